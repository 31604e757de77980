"""Draw the README's picture: a real run of `tanlu ask --offline`, recorded as SVG.

    uv run python tools/picture.py [FILE]

Nothing in it is written by hand; run it again when the output changes.
"""

import asyncio
import html
import io
import os
import re
import sys
import tempfile
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from agent.cli import COMMANDS
from agent.cli.ask import ask_in_process
from agent.cli.parser import build_parser
from agent.cli.render import print_outcome
from agent.cli.request import read_request
from agent.cli.watch import LiveWatcher

QUESTION = "王府井附近适合遛娃的好去处"
PICTURE = Path(__file__).parents[1] / "docs/images/ask.svg"
COLUMNS = 112
CELL = 20 * 0.61
"""Width of a terminal cell in rich's pictures."""
_TEXT = re.compile(
    r'(?P<before><text [^>]*?)textLength="[^"]*"(?P<after>[^>]*>)(?P<text>[^<]*)</text>'
)
THEME = TerminalTheme(
    (30, 34, 42), (220, 223, 228),
    [(40, 44, 52), (224, 108, 117), (152, 195, 121), (229, 192, 123),
     (97, 175, 239), (198, 120, 221), (86, 182, 194), (220, 223, 228)],
    [(92, 99, 112), (224, 108, 117), (152, 195, 121), (229, 192, 123),
     (97, 175, 239), (198, 120, 221), (86, 182, 194), (255, 255, 255)],
)  # fmt: skip
FONTS = "ui-monospace, Menlo, Consolas, 'Noto Sans Mono CJK SC', 'PingFang SC', monospace"
# The fonts rich names are fetched from a network; a picture should not.
FORMAT = """<svg xmlns="http://www.w3.org/2000/svg" class="rich-terminal"
 viewBox="0 0 {width} {height}" role="img">
<style>
.{unique_id}-matrix {{ font-family: FONTS; font-size: {char_height}px;
 line-height: {line_height}px; white-space: pre; }}
.{unique_id}-title {{ font-size: 18px; font-family: FONTS; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
""".replace("FONTS", FONTS)


async def record(question: str) -> Console:
    """The run's lines, as a terminal of that width would show them."""
    console = Console(
        record=True, width=COLUMNS, force_terminal=True, file=io.StringIO(), highlight=False,
        color_system="truecolor", legacy_windows=False,
    )  # fmt: skip
    console.print(Text.assemble(("$ ", "green"), f'uv run tanlu ask "{question}"'))
    arguments = build_parser(COMMANDS).parse_args(["ask", "--offline", question])
    watcher = LiveWatcher(console, "zh")
    outcome = await ask_in_process(read_request(arguments), watcher)
    follow_up = f'tanlu ask --thread {outcome.thread_id} "…"'
    print_outcome(outcome, follow_up=follow_up, notice=outcome.notice, console=console)
    return console


def drawn(console: Console) -> str:
    """The recording as SVG; ids do not change from run to run."""
    svg = console.export_svg(
        title="tanlu ask", theme=THEME, code_format=FORMAT, unique_id="tanlu", clear=False
    )
    return re.sub(r"[ \t]+\n", "\n", _TEXT.sub(_as_wide_as_its_cells, svg))


def _as_wide_as_its_cells(found: re.Match[str]) -> str:
    """Rich counts characters here; a Chinese one is two cells wide."""
    width = cell_len(html.unescape(found["text"])) * CELL
    return f'{found["before"]}textLength="{width:.1f}"{found["after"]}{found["text"]}</text>'


def main() -> None:
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(TANLU_MODE="offline", TANLU_DATA_DIR=folder, TANLU_LOG_LEVEL="ERROR")
        svg = drawn(asyncio.run(record(QUESTION)))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(svg, encoding="utf-8", newline="\n")
    print(f"{file}: {len(svg.encode()):,} bytes")


if __name__ == "__main__":
    main()
