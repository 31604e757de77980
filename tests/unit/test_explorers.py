"""What explorers bring."""

from langchain_core.messages import ToolCall

from agent.assistants.common.search import SearchResult
from agent.assistants.common.toolbox import ToolOutcome
from agent.assistants.common.workspace import Item
from agent.assistants.deep_research.explorers import Finding, _line, _shown
from agent.search.hits import Hit


def test_what_a_query_has_shown_of_a_page_is_quoted_though_it_is_kept_in_other_words() -> None:
    kept = Item("page", "A loan", "https://a.example/", text="A bank. " * 9, id="w111-11")
    hits = [Hit("A loan", kept.url, words) for words in ("The loan is for £12,500.", "A bank.")]
    outcome = ToolOutcome(ToolCall(name="search", args={}, id="1"))
    outcome.results = [SearchResult("q", hits[:1]), SearchResult("q", hits[1:])]
    outcome.items = [[kept], [kept]]
    fact = Finding(fact="It is £12,500", quote="The loan is for £12,500.", id="w111-11")
    line = "- It is £12,500 “The loan is for £12,500.” [^w111-11]"
    assert _line(fact, [*_shown(outcome)]) == line
