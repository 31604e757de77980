"""Turn a speaker's calls of tools into jobs: what is asked, refused, or answered already."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, ToolCall, ToolMessage

from agent.assistants.common.own_documents import SEARCH_DOCUMENTS
from agent.assistants.common.reading import (
    READ,
    wanted_page,
)
from agent.assistants.team_answer.state import (
    Evidence,
    Speaker,
    ToolKind,
    ToolNote,
)
from agent.assistants.team_answer.tools import (
    CODE,
    MAP_PREFIX,
    MAX_PROGRAM,
    SEARCHES,
    program_of,
    query_of,
    searched_before,
)
from agent.texts import Language, say

MAX_CALLS = 12
_LETTERS: dict[ToolKind, str] = {
    "search": "s", "page": "r", "documents": "d", "map": "a", "code": "c"
}  # fmt: skip


@dataclass
class Job:
    """Hold one call and what came of it; `kind` is None where it was refused."""

    call: ToolCall
    kind: ToolKind | None
    id: str = ""
    asked: str = ""
    text: str = ""
    """The whole result."""
    hint: str = ""
    """A line before the result, for the model only."""
    source_ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    cached: bool = False
    failed: bool = False
    twin: "Job | None" = None
    """An equal search of the same message, which alone is asked."""

    @property
    def is_open(self) -> bool:
        """Return whether the job still has to be executed."""
        return self.kind is not None and not self.cached

    def refuse(self, text: str) -> None:
        self.kind, self.failed, self.text = None, True, text

    def fail(self, text: str) -> None:
        self.failed, self.text = True, text

    def evidence(self, speaker: Speaker, round_: int) -> Evidence:
        assert self.kind is not None
        evidence = Evidence(
            id=self.id,
            kind=self.kind,
            tool=self.call["name"],
            asked=self.asked,
            text=self.text,
            source_ids=self.source_ids,
            speaker=speaker,
            round=round_,
            cached=self.cached,
            failed=self.failed,
        )
        return Evidence(**{**evidence, "links": self.links}) if self.links else evidence

    def note(self, text: str) -> ToolNote:
        return ToolNote(tool=self.call["name"], asked=self.asked, evidence=self.id, text=text)

    def message(self, text: str) -> ToolMessage:
        return ToolMessage(
            content=text,
            tool_call_id=self.call["id"] or "",
            name=self.call["name"],
            status="error" if self.failed else "success",
        )


@dataclass(frozen=True)
class Planner:
    """Turn calls into jobs; `offered` names the tools there are, of the map's only whether."""

    pool: Sequence[Evidence]
    offered: Sequence[str]
    maps: bool
    language: Language

    def jobs(self, message: AIMessage) -> list[Job]:
        """Return one for each call, in order, with ids that go on from those of the turn."""
        count = {kind: _next_number(kind, self.pool) for kind in _LETTERS}
        planned: list[Job] = []
        for number, call in enumerate(message.tool_calls):
            job = Job(call, None)
            if number >= MAX_CALLS:
                job.refuse(say("team_answer.tools.too_many", self.language, limit=str(MAX_CALLS)))
            else:
                self._read(job)
            if job.kind is not None:
                job.id = f"{_LETTERS[job.kind]}{count[job.kind]}"
                count[job.kind] += 1
            if job.kind == "search":
                self._recall(job, planned)
            planned.append(job)
        return planned + [self._unreadable(call) for call in message.invalid_tool_calls]

    def _read(self, job: Job) -> None:
        name = job.call["name"]
        if name in SEARCHES and name in self.offered:
            job.kind, job.asked = "search", query_of(job.call)
        elif name == READ and name in self.offered:
            page = wanted_page(job.call)
            job.kind, job.asked = "page", f"{page.page} {page.looking_for}".strip()
        elif name == SEARCH_DOCUMENTS and name in self.offered:
            job.kind, job.asked = "documents", query_of(job.call)
        elif name == CODE and name in self.offered:
            job.kind, job.asked = "code", program_of(job.call)
        elif name.startswith(MAP_PREFIX) and self.maps:
            job.kind, job.asked = "map", map_call_text(job.call)
        else:
            job.refuse(self.no_such_tool(name))
            return
        if not job.asked:
            key = "bad_code" if job.kind == "code" else "bad_query"
            job.refuse(
                say(f"team_answer.tools.{key}", self.language, name=name, limit=str(MAX_PROGRAM))
            )

    def no_such_tool(self, name: str, names: Iterable[str] = ()) -> str:
        """Return the answer to a call of an unknown tool."""
        there = [*self.offered, *(names or ([f"{MAP_PREFIX}…"] if self.maps else []))]
        if not there:
            return say("team_answer.tools.no_tool_at_all", self.language)
        return say(
            "team_answer.tools.unknown_tool", self.language, name=name[:60], tools=", ".join(there)
        )

    def _recall(self, job: Job, planned: Sequence[Job]) -> None:
        """Answer a job from an earlier search, or one of the same message."""
        tool = job.call["name"]
        if earlier := searched_before(tool, job.asked, self.pool):
            job.cached, job.text = True, earlier["text"]
            job.source_ids, job.hint = (
                list(earlier["source_ids"]),
                say("team_answer.tools.cached", self.language),
            )
            return
        open_searches = [other for other in planned if other.kind == "search" and other.is_open]
        drafts = [other.evidence("researcher", 0) for other in open_searches]
        if same := searched_before(tool, job.asked, drafts):
            job.twin = next(other for other in open_searches if other.id == same["id"])
            job.cached, job.hint = (
                True,
                say("team_answer.tools.same_step", self.language, id=job.twin.id),
            )

    def _unreadable(self, call: object) -> Job:
        """Return a job for an unreadable call, as services refuse a call without an answer."""
        read = call if isinstance(call, dict) else {}
        name = str(read.get("name") or "")
        job = Job(ToolCall(name=name, args={}, id=read.get("id")), None)
        job.refuse(say("team_answer.tools.bad_arguments", self.language, name=name[:60]))
        return job


def map_call_text(call: ToolCall) -> str:
    """Return a map's call in one line: `maps_geo address=王府井, city=北京`."""
    arguments = ((n, v) for n, v in call["args"].items() if v not in (None, ""))
    listed = ", ".join(f"{name}={value}" for name, value in arguments)
    return f"{call['name']} {listed}".strip()[:400]


def _next_number(kind: ToolKind, pool: Iterable[Evidence]) -> int:
    numbers = [int(e["id"].lstrip("abcdefghijklmnopqrstuvwxyz")) for e in pool if e["kind"] == kind]
    return max(numbers, default=-1) + 1
