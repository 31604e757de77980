"""The sample's documents, papers and pages as files, under the names that the labels use."""

from importlib import resources
from pathlib import Path

from agent.sample.records import load_sample
from agent.sample.services.pages import page_html, paper_files


def export(folder: Path) -> list[str]:
    """Write them into `folder`; their names in it: documents/…, papers/….pdf, pages/….html."""
    files = {f"papers/{name}.pdf": body for name, body in paper_files().items()}
    for page in load_sample().pages:
        files[f"pages/{page.id}.html"] = page_html(page).encode()
    for entry in (resources.files("agent.sample") / "data" / "documents").iterdir():
        files[f"documents/{entry.name}"] = entry.read_bytes()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return sorted(files)
