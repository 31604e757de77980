"""What of a model's text is said: its thoughts, its wrapping and echoes of the prompt are not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from agent.models.replies import SpokenText
from agent.models.thoughts import Thoughts
from agent.models.types import ModelRequest
from agent.models.wrapping import Echo, OuterFence
from tests.support.rows import by_examples
from tests.support.thoughts import without_thoughts

SAID = "Sodium ions move.[^w0-0]"


def in_pieces(reader: Thoughts, text: str, size: int, *, cut: bool = False) -> str:
    said = ""
    for at in range(0, len(text), size):
        withdrawn, piece = reader.feed(text[at : at + size])
        said = piece if withdrawn else said + piece
    withdrawn, rest = reader.finish(cut=cut)
    return rest if withdrawn else said + rest


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    "text",
    [
        f"<think>\nconsidering [^w0-0]\n</think>\n\n{SAID}",
        f"<think>\n\n</think>\n\n{SAID}",
        f"<THINK>x</THINK>{SAID}",
        f"<thinking>a < b, `c`</thinking>\n{SAID}",
        f"<Thought duration='3'>x</Thought>{SAID}",
        f"< think >x</ think >{SAID}",
        f"＜think＞x＜/think＞{SAID}",
        f"<reasoning>x</reasoning>{SAID}",
        f"<seed:think>x</seed:think>{SAID}",
        f"[THINK]x[/THINK]{SAID}",
        f"◁think▷x◁/think▷{SAID}",
        f"<思考>x</思考>{SAID}",
        f"<|START_THINKING|>x<|END_THINKING|><|START_RESPONSE|>{SAID}<|END_RESPONSE|>",
        f"<|begin_of_thought|>x<|end_of_thought|>{SAID}",
        f"<｜begin▁of▁thinking｜>x<｜end▁of▁thinking｜>{SAID}<｜end▁of▁sentence｜>",
        f"<|channel|>analysis<|message|>x<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>{SAID}<|return|>",
        f"<|channel>thought\nx\n<channel|>{SAID}",
        f'<details type="reasoning" done="true"><summary>…</summary>x</details>\n{SAID}',
        f"<think>x</think><answer>{SAID}</answer>",
        f"<think>x</think>\n<think>y</think>\n{SAID}",
        f"<think>x</thinking>{SAID}",
        f"The template opened it.\n</think>\n\n{SAID}",
        f"One may write </think> here. So.\n</think>\n{SAID}",
        f"It ends here.</think>{SAID}",
    ],
)
def test_thoughts_are_no_text_however_they_are_spelt_and_arrive(text: str, size: int) -> None:
    assert in_pieces(Thoughts(), text, size) == SAID


@pytest.mark.parametrize("size", [1, 1000])
@by_examples
def test_a_tag_that_is_spoken_of_stays(text: str, size: int) -> None:
    assert in_pieces(Thoughts(), text, size) == text


def test_a_thought_within_a_text_goes() -> None:
    text = "First.\n<think>what about the second one?</think>\nSecond."
    assert without_thoughts(text) == "First.\n\nSecond."
    assert without_thoughts("One. <think>let me check what follows</think>Two.") == "One. Two."


def test_a_thought_that_was_cut_is_no_text() -> None:
    assert without_thoughts("<think>let me", cut=True) == ""
    assert without_thoughts("Answer.\n<think>let me", cut=True) == "Answer.\n"
    assert (
        without_thoughts("A line\n<thinking> is a tag", cut=False) == "A line\n<thinking> is a tag"
    )


def test_where_a_template_opens_thoughts_the_text_waits_for_their_end() -> None:
    reader = Thoughts(opened=True)
    assert reader.feed("Let me see. ") == (False, "")
    assert reader.feed(f"So.\n</think>\n{SAID}\n") == (False, f"{SAID}\n")
    assert reader.opened
    assert in_pieces(Thoughts(opened=True), "Let me", 2, cut=True) == ""
    assert in_pieces(Thoughts(opened=True), f"<think>x</think>{SAID}", 2) == SAID


def test_a_model_that_answers_without_thinking_is_not_waited_for_again() -> None:
    reader = Thoughts(opened=True)
    assert in_pieces(reader, SAID, 4) == SAID
    assert not reader.opened


def unwrapped(text: str, size: int) -> str:
    fence = OuterFence()
    said = "".join(fence.feed(text[at : at + size]) for at in range(0, len(text), size))
    return said + fence.finish()


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"```markdown\n# T\n\n{SAID}\n```", f"# T\n\n{SAID}\n"),
        (f"````md\n{SAID}\n```python\nx\n```\nmore\n````\n", f"{SAID}\n```python\nx\n```\nmore\n"),
        (f"```\n{SAID}\n```\n\nI hope it helps.", f"{SAID}\n\nI hope it helps."),
        (f"~~~text\n{SAID}\n```\ncode\n```\nB\n~~~", f"{SAID}\n```\ncode\n```\nB\n"),
        (f"```markdown\n{SAID}\n```\ncode\n```\nB\n```", f"{SAID}\n```\ncode\n```\nB\n"),
        (f"Here it is:\n\n```markdown\n{SAID}\n```", f"Here it is:\n\n{SAID}\n"),
        (f"```html\n{SAID}\n```", f"{SAID}\n"),
        ("```markdown\nno citation\n```\n", "no citation\n"),
        (f"```md\n{SAID} cut o", f"{SAID} cut o"),
    ],
)
def test_a_fence_around_the_whole_text_goes(text: str, said: str, size: int) -> None:
    assert unwrapped(text, size) == said


@pytest.mark.parametrize("size", [1, 1000])
@by_examples
def test_a_code_block_that_is_the_content_stays(text: str, size: int) -> None:
    assert unwrapped(text, size) == text


SENT: list[BaseMessage] = [
    SystemMessage(
        "<task>answer</task>\nYou answer questions from the findings, and cite their ids.\n"
        "- 前提有误先纠正，再回答所问的问题。Do not write what the sources do not say."
    ),
    HumanMessage("<question>\nWhen was it founded?\n</question>\n<cut_off>the tail</cut_off>"),
]


@pytest.mark.parametrize("size", [1, 1000])
@by_examples
def test_an_echo_of_the_prompt_is_no_text_and_is_counted(text: str, said: str, size: int) -> None:
    echo = Echo(SENT)
    kept = "".join(echo.feed(text[at : at + size]) for at in range(0, len(text), size))
    assert kept + echo.finish() == said
    assert echo.found


@by_examples
def test_words_of_ones_own_are_no_echo(text: str) -> None:
    echo = Echo(SENT)
    assert "".join(map(echo.feed, text)) + echo.finish() == text
    assert not echo.found


PARTS = [
    "<think>", "</think>", "</THINKING>", "[THINK]", "[/THINK]", "<|channel|>", "<|message|>",
    "<|start|>", "<|end|>", "analysis", "final", "```markdown\n", "```\n", "````\n", "~~~", "`",
    "\n", " ", "word ", "Sentence. ", "你好。", "[^w0-0]", "<question>", "</question>", "<task>",
    "You answer questions from the findings, and cite their ids.", "<", "[", "(", "<answer>",
]  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), max_size=12), st.data())
def test_a_stream_says_what_the_whole_text_does(parts: list[str], data: Any) -> None:
    text, cut = "".join(parts), data.draw(st.booleans())
    whole, reader = (SpokenText(ModelRequest("m", SENT), opened=False) for _ in range(2))
    said, at = "", 0
    while at < len(text):
        size = data.draw(st.integers(1, 9))
        withdrawn, piece = reader.feed(text[at : at + size])
        said, at = piece if withdrawn else said + piece, at + size
    withdrawn, rest = reader.finish(cut=cut)
    assert (rest if withdrawn else said + rest) == whole.whole(text, cut=cut)


@pytest.mark.parametrize("text", ["- [ ] done", "a <  > b", "[\t]", "＜ ＞ 甲"])
def test_empty_brackets_are_text(text: str) -> None:
    """A page's list of tasks, quoted, broke the whole reply."""
    assert without_thoughts(text) == text
