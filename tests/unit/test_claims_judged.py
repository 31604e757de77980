"""The check of an answer while it streams: judged in batches, late or failing judges, wordings."""

import asyncio
from collections.abc import Sequence

from agent.assistants.common.claims import Ask, Checked, ClaimCheck, unchecked
from agent.evidence.claims.judging import Ruling
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.statements import Statement
from agent.evidence.types import Source
from agent.texts import say

URL = "https://a.example/"
SOURCES = {
    "w0-0": Source(id="w0-0", kind="page", title="甲", url=URL, provider="x", quotes=[], number=1)
}
KNOWN = Evidence({"w0-0": Record(["故宫门票 60 元，周一闭馆。"])}, question="故宫")


async def checked(body: str, judge: Ask | None, *, seconds: float = 5) -> Checked:
    """Return what comes of a text that streams piece by piece."""
    check = ClaimCheck(asyncio.ensure_future(known()), [], SOURCES, "zh", judge)
    check.used[:] = SOURCES.values()
    for at in range(0, len(body), 7):
        check.feed(body[at : at + 7])
        await asyncio.sleep(0)
    await check.finish(body, seconds=seconds)
    check.stop()
    return check.finished(body, {})


async def known() -> Evidence:
    return KNOWN


class Reader:
    """Judge by a table of words: what a statement with them is."""

    def __init__(self, **rulings: dict[str, object]) -> None:
        self.rulings, self.batches = rulings, list[list[str]]()

    async def __call__(self, batch: Sequence[Statement], evidence: Evidence) -> list[Ruling]:
        self.batches.append([one.plain for one in batch])
        found = [(one, self._fields(one.plain)) for one in batch]
        return [Ruling.model_validate({"id": one.name, **row}) for one, row in found if row]

    def _fields(self, plain: str) -> dict[str, object]:
        return next((row for words, row in self.rulings.items() if words in plain), {})


SUPPORTED: dict[str, object] = {"v": "s", "p": ["1.1"]}


async def test_every_statement_is_judged_once_also_those_of_blocks_that_ended_early() -> None:
    blocks = [f"第{n}句门票60元[1]({URL})。" for n in range(40)]
    reader = Reader(门票=SUPPORTED)
    done = await checked("\n\n".join(blocks), reader)
    asked = [plain for batch in reader.batches for plain in batch]
    assert sorted(asked) == sorted(f"第{n}句门票60元。" for n in range(40))
    assert len(reader.batches) <= 5
    assert done.counts["supported"] == 40


async def test_no_answer_costs_more_than_a_dozen_calls() -> None:
    reader = Reader()
    done = await checked("\n\n".join(f"第{n}句门票60元。" for n in range(400)), reader)
    assert len(reader.batches) <= 12
    assert done.counts["unchecked"] == done.counts["total"] == 400


async def test_what_fails_is_said_as_the_judge_would_where_that_is_borne_out() -> None:
    wrong: dict[str, object] = {
        "v": "p", "p": ["1.1"], "bad": ["有免费轮椅"], "fix": "故宫门票60元 [1]。",
    }  # fmt: skip
    reader = Reader(轮椅=wrong, 门票60元=SUPPORTED)
    done = await checked(f"故宫门票60元，有免费轮椅[1]({URL})。", reader)
    assert done.counts["revised"] == 1
    assert done.text.startswith(f"故宫门票60元 [1]({URL})。")
    assert "†" not in done.text


async def test_a_wording_that_the_judge_does_not_bear_out_leaves_the_sign() -> None:
    wrong: dict[str, object] = {
        "v": "p", "p": ["1.1"], "bad": ["有免费轮椅"], "fix": "故宫周一闭馆 [1]。",
    }  # fmt: skip
    done = await checked(f"故宫门票60元，有免费轮椅[1]({URL})。", Reader(轮椅=wrong))
    assert f"有免费轮椅†[1]({URL})。" in done.text
    assert say("answer.no_source_says", "zh", mark="†") in done.text
    assert (done.counts["marked"], done.missing) == (1, 1)


async def test_a_statement_that_stands_nowhere_leaves_the_line_that_says_more() -> None:
    gone: dict[str, object] = {"v": "n", "fix": "-"}
    done = await checked(f"故宫门票60元[1]({URL})。有免费轮椅。", Reader(轮椅=gone))
    assert "轮椅" not in done.text
    done = await checked("有免费轮椅。", Reader(轮椅=gone))
    assert "有免费轮椅†" in done.text


async def test_a_judge_that_is_too_late_leaves_all_unchecked_and_nothing_marked() -> None:
    async def late(batch: Sequence[Statement], evidence: Evidence) -> list[Ruling]:
        await asyncio.Event().wait()
        return []

    done = await checked("故宫门票80元。", late, seconds=0.01)
    assert (done.counts["unchecked"], done.text) == (1, "故宫门票80元。")


async def test_without_a_judge_nothing_is_asked_and_all_is_told_as_unchecked() -> None:
    done = await checked(f"故宫门票80元[1]({URL})。", None)
    assert done.counts["unchecked"] == done.counts["total"] == 1
    assert "†" not in done.text


def test_a_text_whose_check_broke_says_that_nobody_checked_it() -> None:
    done = unchecked("前\n\n正文。\n\n后", "正文。", [], "zh")
    assert done.text == f"前\n\n正文。\n\n{say('answer.not_checked', 'zh')}\n\n后"
    assert done.text[slice(*done.extent)] == "正文。"
