"""The team's answer as finished pieces: the answer first, then why, then what it rests on."""

from collections.abc import AsyncIterator
from typing import Any

from agent.assistants.team_answer.answer_text import calculation_section, headline, say, tried
from agent.assistants.team_answer.searching import searches_saved
from agent.assistants.team_answer.settling import calculations
from agent.assistants.team_answer.state import TeamState
from agent.assistants.team_answer.toolbox import TeamToolbox
from agent.budget import Meter
from agent.configuration import Configuration
from agent.evidence.markers import cited_ids
from agent.nodes.writer import TurnWriter


class TeamWriter(TurnWriter):
    """Writes what was settled; `answer` is the form people read, `final` the normalised one."""

    def __init__(
        self, state: TeamState, configuration: Configuration, given: TeamToolbox, meter: Meter
    ) -> None:
        super().__init__(state, configuration, given, meter)
        self._state = state
        self._unsettled = state.get("unsettled", False)
        self.degraded = self._unsettled or state.get("ended") == "failures"
        self.answer = ""
        self.final = ""

    @property
    def verified(self) -> bool:
        """Whether there is an answer and the verifier's last verdict was to agree."""
        return bool(self.final) and self._state.get("verified", False)

    def told(self) -> dict[str, Any]:
        answered = {"final_answer": self.final, "answered": bool(self.final)}
        return {**super().told(), **answered, "verified": self.verified}

    def checks(self) -> dict[str, int]:
        counts, pool = super().checks(), self._state.get("evidence_pool", [])
        invented = self._state.get("unknown_ids", 0)
        return {
            **counts,
            "unknown_ids_removed": counts["unknown_ids_removed"] + invented,
            "rounds": len(self._state.get("transcript", [])),
            "searches_saved": searches_saved(pool),
            "verified": int(self.verified),
        }

    async def _body(self) -> AsyncIterator[str]:
        language = self._language
        yield headline(self.answer, language)
        if self.answer and not self.verified:
            yield f"\n\n{say('unverified', language)}"
        if self.answer and self._unsettled:
            yield f"\n\n{say('unsettled', language)}"
        if explanation := self._state.get("explanation", ""):
            yield "\n\n" + self._cited(explanation)
        if rest := self._uncited(explanation):
            yield "\n\n" + self._cited(say("rests_on", language) + rest)
        if not self.answer:
            yield "\n\n" + tried(self._state.get("evidence_pool", []), language)

    def _uncited(self, explanation: str) -> str:
        """Markers of the sources the answer rests on and the explanation does not name."""
        said = set(cited_ids(explanation))
        known = {source["id"] for source in self._state.get("sources_gathered", [])}
        names = self._state.get("answer_evidence", [])
        return "".join(f"[^{name}]" for name in names if name in known and name not in said)

    def _own_sections(self) -> list[str]:
        used = set(self._state.get("answer_evidence", []))
        programs = [found for found in calculations(self._state) if found["id"] in used]
        return [self._cited(calculation_section(programs, self._language))]
