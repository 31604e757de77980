"""What a report still says wrongly after its revision is left out; mere words of it are marked."""

import pytest

from tests.unit.test_claims_judged import SUPPORTED, URL, Reader, checked

CITED = f"[1]({URL})"
FIRST = f"故宫门票60元{CITED}。"
OTHERWISE: dict[str, object] = {"v": "x", "p": ["1.1"], "bad": ["全年开放"], "says": "周一闭馆"}
NOWHERE: dict[str, object] = {"v": "n"}
PARTLY: dict[str, object] = {"v": "p", "p": ["1.1"], "bad": ["有免费轮椅"]}


async def body_of(text: str, ruling: dict[str, object], *, tells: bool = True) -> str:
    reader = Reader(全年开放=ruling, 门票60元=SUPPORTED)
    done = await checked(text, reader, tells=tells)
    return done.text[slice(*done.extent)]


@pytest.mark.parametrize(("ruling", "goes"), [(OTHERWISE, True), (NOWHERE, True), (PARTLY, False)])
async def test_what_nobody_could_mend_is_left_out_of_a_report_and_mere_words_are_marked(
    ruling: dict[str, object], goes: bool
) -> None:
    body = await body_of(f"{FIRST}故宫全年开放，有免费轮椅{CITED}。", ruling)
    assert ("全年开放" not in body) is goes
    assert ("†" not in body) is goes
    assert "‡" not in body


async def test_an_answer_that_is_no_report_keeps_its_signs() -> None:
    body = await body_of(f"{FIRST}故宫全年开放{CITED}。", OTHERWISE, tells=False)
    assert "全年开放‡" in body


@pytest.mark.parametrize(
    "text",
    [
        f"故宫全年开放{CITED}。{FIRST}",
        f"# 故宫的门票与开放时间\n\n- 故宫全年开放{CITED}。\n- {FIRST}",
        f"{FIRST}故宫全年开放{CITED}。它的门票60元{CITED}。",
        f"{FIRST}\n\n## 开放\n\n故宫全年开放{CITED}。",
    ],
)
async def test_the_first_statement_what_the_next_refers_to_and_a_whole_line_stay_with_a_sign(
    text: str,
) -> None:
    assert "全年开放‡" in await body_of(text, OTHERWISE)
