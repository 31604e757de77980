"""The offline brain: rules, not a language model, that answer our prompts over the sample.

They know the protocol and the tags of the prompts, never particular questions. A task family has
its own file; a new one adds its names here.
"""

from collections.abc import Callable
from dataclasses import replace

from .brain import Answer, Turn
from .rules_answer import answer
from .rules_deep import deep_explore
from .rules_deep_report import deep_compress, deep_report
from .rules_dossier import execute_decide, plan_tasks, rewrite_headings
from .rules_dossier_text import dossier
from .rules_map import amap_research
from .rules_plan import generate_query, reflection
from .rules_research import web_research, web_writeup
from .rules_team import team_analyze, team_decompose, team_format, team_select, team_synthesize
from .rules_team_roles import team_analyst, team_researcher, team_verifier
from .rules_text import task_of

Rule = Callable[[Turn], Answer]

RULES: dict[str, Rule] = {
    "generate_query": generate_query,
    "web_research": web_research,
    "web_writeup": web_writeup,
    "amap_research": amap_research,
    "reflection": reflection,
    "answer": answer,
    "deep_explore": deep_explore,
    "deep_compress": deep_compress,
    "deep_report": deep_report,
    "team_analyze": team_analyze,
    "team_decompose": team_decompose,
    "team_select": team_select,
    "team_researcher": team_researcher,
    "team_analyst": team_analyst,
    "team_verifier": team_verifier,
    "team_synthesize": team_synthesize,
    "team_format": team_format,
    "plan_tasks": plan_tasks,
    "execute_decide": execute_decide,
    "rewrite_headings": rewrite_headings,
    "dossier": dossier,
}
UNSUPPORTED = "unsupported task"


class SampleBrain:
    """Answers by the rule of the task that the system text names."""

    def __init__(self, rules: dict[str, Rule] | None = None) -> None:
        self._rules = RULES if rules is None else rules

    def respond(self, turn: Turn) -> Answer:
        """The answer of the task's rule; unknown tasks are not faked."""
        rule = self._rules.get(task_of(turn))
        if rule is None:
            return Answer(text=UNSUPPORTED, json=None if turn.schema is None else {})
        return rule(replace(turn, user=_with_first(turn)))


def _with_first(turn: Turn) -> str:
    """The text that holds the tags: a repair request after it repeats none of them."""
    if "</" in turn.user:
        return turn.user
    tagged = [past.text for past in turn.history if past.role == "user" and "</" in past.text]
    return tagged[-1] if tagged else turn.user
