"""Write the lock's exact versions, with their markers, into [tool.uv] of pyproject.toml.

`uv.lock` records where packages were downloaded from and is not committed; these constraints are.
Run `make pins` after changing a dependency.
"""

import re
import subprocess
from pathlib import Path

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
BEGIN, END = "# pins: begin (written by `make pins`)", "# pins: end"


def locked() -> list[str]:
    """`name==version ; marker` of every package in the lock."""
    command = ["uv", "export", "--all-extras", "--all-groups", "--no-hashes", "--no-annotate",
               "--no-header", "--no-emit-project", "--format", "requirements-txt"]  # fmt: skip
    done = subprocess.run(command, cwd=PYPROJECT.parent, check=True, capture_output=True, text=True)
    return [line.strip() for line in done.stdout.splitlines() if "==" in line]


def main() -> None:
    lines = [f'    "{pin.replace(chr(34), chr(39))}",' for pin in locked()]
    block = "\n".join([BEGIN, "[tool.uv]", "constraint-dependencies = [", *lines, "]", END])
    text = PYPROJECT.read_text("utf-8")
    text = re.sub(rf"\n*{re.escape(BEGIN)}.*?{re.escape(END)}\n*", "\n", text, flags=re.DOTALL)
    PYPROJECT.write_text(text.rstrip() + "\n\n" + block + "\n", "utf-8")
    print(f"{len(lines)} pins written")


if __name__ == "__main__":
    main()
