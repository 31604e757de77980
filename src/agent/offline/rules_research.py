"""The web's turn: a grounded search over the sample's pages, and search results written up."""

import re

from agent.language import Language, detect_language

from .brain import Answer, GroundedSentence, Page, Turn
from .corpus import Page as SamplePage
from .corpus import search_pages
from .rules_text import Sentence, block, language_of, ranked, sentences

_PAGES, _PER_PAGE, _WRITTEN_UP = 2, 4, 6
_RESULT = re.compile(r'<result\s+id="([a-z]+\d+-\d+)"[^>]*>\n?(.*?)</result>', re.DOTALL)
_ELLIPSIS = re.compile(r"(?:\.{3}|…)+")


def web_research(turn: Turn) -> Answer:
    """Sentences of the best sample pages, each resting on its page; or one that says: nothing."""
    query = block(turn.user, "query").strip()
    language = language_of(turn)
    pages = _found(query) if turn.search else []
    if not pages:
        said = GroundedSentence(_nothing(query, language))
        return Answer(grounded=(said,), queries=(query,) if query and turn.search else ())
    grounded: list[GroundedSentence] = []
    for page in pages:
        shown = Page(uri=page.url, title=page.title)
        space = "" if page.language == "zh" else " "
        best = {sentence.text for sentence in ranked(sentences(page.text), query)[:_PER_PAGE]}
        kept = [sentence.text for sentence in sentences(page.text) if sentence.text in best]
        grounded += [GroundedSentence(text + space, (shown,)) for text in kept]
        grounded.append(GroundedSentence("\n"))
    return Answer(grounded=tuple(grounded[:-1]), queries=(query,))


def _found(query: str) -> list[SamplePage]:
    """Pages in the query's language first; others only where there are none."""
    return search_pages(query, detect_language(query), _PAGES) or search_pages(query, None, _PAGES)


def web_writeup(turn: Turn) -> Answer:
    """The best sentences of the results, each with the id of its result."""
    query, language = block(turn.user, "query").strip(), language_of(turn)
    found = [
        Sentence(f"{sentence.bare}[^{name}]")
        for name, text in _RESULT.findall(turn.user)
        for sentence in sentences(_snippet(text))
    ]
    if not found:
        return Answer(text=_nothing(query, language))
    space = "" if language == "zh" else " "
    return Answer(text=space.join(s.text for s in ranked(found, query)[:_WRITTEN_UP]))


def _snippet(text: str) -> str:
    """What follows the title line; the title where there is nothing else."""
    title, _, rest = text.strip().partition("\n")
    return _ELLIPSIS.sub("\n", rest) if rest.strip() else title


def _nothing(query: str, language: Language) -> str:
    if language == "zh":
        return f"示例数据里没有关于“{query}”的资料。"
    return f"The sample data has nothing on “{query}”."
