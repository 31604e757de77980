"""Which search engines a discussion has, and what one query of them brings."""

from dataclasses import dataclass, field

from agent.assistants.team_answer.toolbox import TeamSearch
from agent.configuration import Configuration
from agent.errors import ConfigurationError
from agent.evidence.types import Gap
from agent.nodes.toolbox import gap_of
from agent.search.gaps import search_gap
from agent.search.types import SearchProvider, WebChoice, WebTask
from agent.state import Turn

GOOGLE, BOCHA, TAVILY = "search_google", "search_bocha", "search_tavily"
_CHOICES: dict[WebChoice, str] = {
    "serper": GOOGLE,
    "google": GOOGLE,
    "bocha": BOCHA,
    "tavily": TAVILY,
}
"""The tool that a service serves, Google by Serper before Google by a model."""


@dataclass(frozen=True)
class Engines:
    """The services by the tools they serve; none of them, with the reason as a gap."""

    services: dict[str, SearchProvider] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)


def engines_of(web: TeamSearch, configuration: Configuration, turn: Turn) -> Engines:
    """What `web_search` allows of what is configured; Tavily only where there is nothing else."""
    model, choice = configuration.research_model, configuration.web_search
    if choice == "off":
        task = WebTask("", "", turn["language"], turn["today"], model)
        return Engines(gaps=[search_gap(task, "web", "search_off")])
    found: dict[str, SearchProvider] = {}
    problem: ConfigurationError | None = None
    for wanted, name in _CHOICES.items():
        if choice not in ("auto", wanted) or (wanted == "tavily" and found):
            continue
        try:
            found.setdefault(name, web.provider(wanted, model=model))
        except ConfigurationError as error:
            problem = problem or error
    if found or problem is None:
        return Engines(found)
    return Engines(gaps=[gap_of("", _named(web, configuration) or problem, "web")])


def _named(web: TeamSearch, configuration: Configuration) -> ConfigurationError | None:
    """The whole of what could be set, where nothing is."""
    try:
        web.provider(configuration.web_search, model=configuration.research_model)
    except ConfigurationError as error:
        return error
    return None
