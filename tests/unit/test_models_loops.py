"""A text that goes round in circles is known; rows that are alike are no circle."""

import pytest

from agent.models.limits import Loop, is_looping, without_loop

SENTENCE = "The Palace Museum was founded in 1925 and stands in the middle of the city. "
LOOPS = [
    SENTENCE * 12,
    "A true beginning, said once and for all. " + SENTENCE * 12,
    "故宫博物院成立于一九二五年，位于北京的中心。" * 40,
    '"the second one", ' * 50,
    "1" * 1000,
    "哈哈" * 400,
    f"{SENTENCE}It is large. " * 10,
    "\n" * 2500,
    "请回答：\n" * 12,
    "It is.\nSo.\n" * 12,
]
TEXTS = [
    "".join(f"| {2000 + n} | {n * 37 % 1000} | 北京 | 故宫 | yes |\n" for n in range(100)),
    "".join(f"- Line {n} of the metro opened\n" for n in range(100)),
    "".join(f"{n}. 第{n}号线 2{n:03} 年开通，全长 {n * 3} 公里。\n" for n in range(80)),
    "".join(f'{{"query": "subway line {n}", "web": true}}, ' for n in range(60)),
    "| --- " * 60,
    "-" * 900,
    "请回答：\n" * 11,
    "12,\n" * 60,
    "|  |  |\n" * 40,
    "na " * 20,
    "=" * 1500,
    SENTENCE * 3,
    "".join(f"| {city} | yes | yes | no |\n" for city in ("a", "b", "c", "d") * 1),
]


@pytest.mark.parametrize("text", LOOPS)
def test_a_loop_is_known(text: str) -> None:
    assert is_looping(text)


@pytest.mark.parametrize("text", TEXTS)
def test_rows_and_lines_are_no_loop(text: str) -> None:
    assert not is_looping(text)


class Watched(str):
    """A text whose pieces are counted as they are compared sign by sign."""

    looks = 0

    def __getitem__(self, at: object) -> str:  # type: ignore[override]
        Watched.looks += 1
        found = super().__getitem__(at)  # type: ignore[index]
        return Watched(found) if isinstance(at, slice) else found


@pytest.mark.parametrize("text", [TEXTS[0], TEXTS[2], SENTENCE])
def test_a_text_whose_end_stands_in_it_once_is_compared_at_once(text: str) -> None:
    Watched.looks = 0
    assert not is_looping(Watched(text))
    assert Watched.looks < 10


@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_loop_is_known_as_it_comes_and_soon(size: int) -> None:
    text, loop, taken = "It began well enough. " * 2 + SENTENCE * 100, Loop(), 0
    for at in range(0, len(text), size):
        taken = at
        if loop.take(text[at : at + size]):
            break
    assert loop.found
    assert taken < 1500


def test_a_text_of_rows_goes_through_whatever_its_pieces() -> None:
    loop = Loop()
    assert not any(loop.take(sign) for text in TEXTS[:4] for sign in text)


@pytest.mark.parametrize("text", LOOPS)
def test_of_a_loop_one_round_is_left(text: str) -> None:
    left = without_loop(text)
    assert text.startswith(left)
    assert not is_looping(left)
    assert len(left) < len(text) / 4


def test_lines_that_came_before_are_left_out_of_a_text_that_loops() -> None:
    text = f"True.\n{SENTENCE}\nEnd.\n{SENTENCE}\nEnd.\n" + f"{SENTENCE}\n" * 20
    assert without_loop(text) == f"True.\n{SENTENCE}\nEnd.\n"


def test_a_number_again_and_again_stands_once() -> None:
    assert without_loop("The year:\n" + "1974\n" * 200).strip() == "The year:\n1974"
