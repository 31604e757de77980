"""A cut-off answer goes on without a seam, wherever it was cut and however it is taken up."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent.models.seam import Seam, last_words
from tests.support.rows import by_examples

TEXTS = (
    "王府井附近可以带孩子去两处[^a0-0]。\n\n"
    "1. **和平菓局**：地下二层的老北京街景[^a0-0]，人均 ¥40。\n"
    "2. **乐高旗舰店**：离地铁站 269 米[^a0-1]，晚上十点关门。\n\n雨天先去博物馆，再走到书店。",
    "Two places suit children near Wangfujing [^a0-0].\n\n- **Heping Guoju**: an old street below "
    "ground [^a0-0], ¥40 a head.\n- **LEGO store**: 269 m from the station [^a0-1], open until ten."
    "\n\n| Place | Price |\n|---|---|\n| Heping Guoju | ¥40 |\n| LEGO store | free |\n\n"
    "On a rainy day begin with the museum. The bookshop is on the way back.",
    "Рядом с Ванфуцзином есть два места для детей [^a0-0].\n\n- **Музей**: вход свободный "
    "[^a0-1], закрыт по понедельникам.\n\nВ дождь начните с музея.",
)
CUTS = [(text, at) for text in TEXTS for at in range(1, len(text))]
SIZES = ([1], [3, 11], [400])


def said(text: str, rest: str, sizes: Sequence[int]) -> str:
    """The whole answer after a rest that came in pieces of these sizes, again and again."""
    seam, output, at, step = Seam(text), "", 0, 0
    while at < len(rest):
        size = sizes[step % len(sizes)]
        output += seam.take(rest[at : at + size])
        at, step = at + size, step + 1
    output += seam.end()
    return output if seam.restarted else text + output


@pytest.mark.parametrize("sizes", SIZES)
def test_a_rest_that_begins_with_the_last_words_is_joined_to_the_sign(sizes: list[int]) -> None:
    for whole, at in CUTS:
        text = whole[:at]
        begin = len(text.rstrip()) - len(last_words(text))
        assert said(text, whole[begin:], sizes) == whole, text[-30:]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("border", [r"\n(?=\S)", r"[。.] ?(?=\S)"], ids=["line", "sentence"])
def test_a_rest_that_begins_with_the_last_line_or_sentence_says_nothing_twice(
    border: str, sizes: list[int]
) -> None:
    for whole, at in CUTS:
        text = whole[:at]
        begin = max((match.end() for match in re.finditer(border, text.rstrip())), default=0)
        if len(text.rstrip()) - begin >= 6:
            assert said(text, whole[begin:], sizes) == whole, text[-30:]


@pytest.mark.parametrize("sizes", SIZES)
def test_a_rest_that_goes_on_where_the_text_stops_loses_nothing(sizes: list[int]) -> None:
    for whole, at in CUTS:
        joined = said(whole[:at], whole[at:], sizes)
        assert joined.replace(" ", "") == whole.replace(" ", ""), whole[:at][-30:]


@pytest.mark.parametrize("sizes", SIZES)
def test_a_rest_that_begins_the_answer_anew_takes_its_place(sizes: list[int]) -> None:
    for whole, at in CUTS:
        if at > 60:
            assert said(whole[:at], whole, sizes) == whole


SIGNS = st.text(alphabet="ab \n|-", max_size=40)


@settings(deadline=None)
@given(SIGNS, SIGNS)
@example("a ", "a")
def test_whatever_the_rest_is_its_end_is_said(text: str, rest: str) -> None:
    joined = said(text, rest, [2, 5])
    assert len(joined) <= len(text) + len(rest) + 1
    # A rest that says the whole text again leaves the blanks behind it, which have been streamed.
    assert joined.removesuffix(text[len(text.rstrip()) :]).endswith(rest[-1:].strip())


@by_examples
def test_habits_of_models_at_a_seam(text: str, rest: str, whole: str) -> None:
    assert said(text, rest, [3]) == whole
