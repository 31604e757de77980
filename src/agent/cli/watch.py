"""Telling what a run does while it works, on stderr: live on a terminal, plain lines elsewhere."""

import logging
import re
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from agent.cli.console import one_line, printable
from agent.language import Language
from agent.redaction import scrub

_WIDEST = 160
_PLACEHOLDER = re.compile(r"\{(count|speaker|text)\}")
_TAIL_LINES = 8

_WORDS: Final[dict[Language, dict[str, str]]] = {
    "zh": {
        "queries": "检索词：{text}",
        "search_started": "搜索：{text}",
        "search_done": "搜索完成，{count} 条来源：{text}",
        "map_started": "查地图：{text}",
        "map_call": "地图：{text}",
        "map_done": "地图完成，{count} 项：{text}",
        "reflection": "反思：还缺 {text}（再查 {count} 个词）",
        "enough": "反思：资料已足够",
        "thought": "思考：{text}",
        "topic_started": "新子题：{text}",
        "topic_done": "子题完成，留下 {count} 个网页：{text}",
        "reading": "阅读 {count} 个网页：{text}",
        "compressed": "已整理：{text}",
        "analysis": "要回答的是：{text}",
        "sub_questions": "分解为：{text}",
        "turn_started": "轮到{speaker}",
        "turn": "{speaker}：{text}",
        "code": "计算：{text}",
        "tasks": "计划，{count} 个子任务：{text}",
        "task_started": "子任务：{text}",
        "task_done": "子任务完成，{count} 条资料：{text}",
        "download": "论文全文：{text}",
        "ingested": "{count} 篇论文已读入资料库",
        "passages": "资料库中有 {count} 段相关",
        "gap": "未查到：{text}",
        "answering": "正在写答案",
        "starting": "开始",
    },
    "en": {
        "queries": "Queries: {text}",
        "search_started": "Searching: {text}",
        "search_done": "Searched, sources found: {count}: {text}",
        "map_started": "On the map: {text}",
        "map_call": "Map: {text}",
        "map_done": "Map done, found: {count}: {text}",
        "reflection": "Reflection: still missing {text} (follow-up queries: {count})",
        "enough": "Reflection: enough was found",
        "thought": "Thinking: {text}",
        "topic_started": "New topic: {text}",
        "topic_done": "Topic done, pages kept: {count}: {text}",
        "reading": "Reading, pages: {count}: {text}",
        "compressed": "Notes written: {text}",
        "analysis": "What is asked: {text}",
        "sub_questions": "Split into: {text}",
        "turn_started": "Next: {speaker}",
        "turn": "{speaker}: {text}",
        "code": "Calculated: {text}",
        "tasks": "Plan, tasks: {count}: {text}",
        "task_started": "Task: {text}",
        "task_done": "Task done, documents: {count}: {text}",
        "download": "Full text: {text}",
        "ingested": "Papers read into the knowledge base: {count}",
        "passages": "Passages of documents that bear on it: {count}",
        "gap": "Not found: {text}",
        "answering": "Writing the answer",
        "starting": "Starting",
    },
}
_SPEAKERS = {"researcher": "研究员", "analyst": "分析员", "verifier": "核查员"}
_PASSING = (
    *("search_started", "map_started", "map_call", "reading", "answering", "turn_started"),
    "task_started",
)
"""Shown while they last; what came of them is said afterwards."""


class Watcher(Protocol):
    """Hears a run's progress events and the answer's pieces as they come."""

    notice_shown: bool

    def event(self, told: Mapping[str, Any]) -> None: ...

    def token(self, text: str) -> None: ...


class SilentWatcher:
    """For `--json`: one object is printed, nothing else."""

    notice_shown = False

    def event(self, told: Mapping[str, Any]) -> None:
        """Nothing is shown."""

    def token(self, text: str) -> None:
        """Nothing is shown."""


class PlainWatcher:
    """One line an event, for logs and pipes."""

    notice_shown = False

    def __init__(self, language: Language) -> None:
        self._language = language

    def event(self, told: Mapping[str, Any]) -> None:
        if line := event_line(told, self._language):
            print(f"- {line}", file=sys.stderr, flush=True)  # noqa: T201

    def token(self, text: str) -> None:
        """The answer is printed once, at the end."""


class LiveWatcher:
    """Finished steps as lines, what goes on now with a spinner, the end of the growing answer."""

    def __init__(self, console: Console, language: Language) -> None:
        self.notice_shown = False
        self._console, self._language = console, language
        self._now = _WORDS[language]["starting"]
        self._spinner = Spinner("line" if console.options.ascii_only else "dots")
        self._answer = ""

    def event(self, told: Mapping[str, Any]) -> None:
        line = event_line(told, self._language)
        if not line:
            return
        if told["type"] in _PASSING:
            self._now = line
            return
        if told["type"] == "notice":
            self.notice_shown = True
            self._console.print(Text(printable(str(told["text"])), style="yellow"))
            return
        style = "yellow" if told["type"] == "gap" else "dim"
        self._console.print(Text(f"  {line}", style=style))

    def token(self, text: str) -> None:
        self._answer += text

    def __rich__(self) -> Group:
        self._spinner.update(text=Text(self._now, style="cyan", no_wrap=True, overflow="ellipsis"))
        tail = deque(printable(self._answer).splitlines(), maxlen=_TAIL_LINES)
        return Group(self._spinner, Text("\n".join(tail), style="dim", overflow="fold"))


class _Slow(logging.Handler):
    """Passes on what is worth telling while nothing else happens: the map server's installation."""

    def __init__(self, watcher: Watcher) -> None:
        super().__init__(logging.INFO)
        self._watcher = watcher

    def emit(self, record: logging.LogRecord) -> None:
        self._watcher.event({"type": "map_call", "text": scrub(record.getMessage())})


@contextmanager
def telling_of_installs(watcher: Watcher) -> Iterator[None]:
    """Installing the map server once takes seconds to minutes; without a word it looks stuck."""
    slow, source = _Slow(watcher), logging.getLogger("agent.mcp.install")
    level = source.level
    source.addHandler(slow)
    source.setLevel(logging.INFO)
    try:
        yield
    finally:
        source.removeHandler(slow)
        source.setLevel(level)


@contextmanager
def watching(language: Language, *, silent: bool) -> Iterator[Watcher]:
    """The watcher that fits this standard error; a live one leaves only its lines behind."""
    if silent:
        yield SilentWatcher()
        return
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal or console.is_dumb_terminal:
        yield PlainWatcher(language)
        return
    watcher = LiveWatcher(console, language)
    with Live(get_renderable=watcher.__rich__, console=console, transient=True,
              refresh_per_second=8, redirect_stdout=False, redirect_stderr=True):  # fmt: skip
        yield watcher


def event_line(told: Mapping[str, Any], language: Language) -> str:
    """One event in words; empty for those that say nothing new."""
    kind, text = str(told.get("type", "")), str(told.get("text") or "")
    if kind == "notice":
        return one_line(text)
    if kind == "reflection" and not told.get("count"):
        kind = "enough"
    words = _WORDS[language].get(kind)
    if words is None:
        return ""
    if kind in ("queries", "sub_questions", "tasks"):
        text = ("；" if language == "zh" else "; ").join(text.splitlines())
    speaker = str(told.get("speaker") or "")
    shown = _SPEAKERS.get(speaker, speaker) if language == "zh" else speaker
    values = {"count": str(told.get("count", 0)), "speaker": shown, "text": text}
    line = _PLACEHOLDER.sub(lambda key: values[key[1]], words)
    line = one_line(line, longest=_WIDEST)
    seconds = told.get("seconds")
    return f"{line} ({seconds:.1f} s)" if isinstance(seconds, int | float) else line
