"""The check of an answer while it streams: judged in batches, late or failing judges, wordings."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import pytest

from agent.assistants.common.claims import Checked, ClaimCheck, unchecked
from agent.assistants.common.judge import Ask, Judge
from agent.core.budget import Meter
from agent.core.errors import AgentError, BudgetExceeded
from agent.evidence.claims.judging import Ruling
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.statements import Statement
from agent.evidence.notation import MARKED
from agent.evidence.types import Place, Source
from agent.models.client import ModelClient
from agent.texts import Language, say

URL = "https://a.example/"
SOURCES = {
    "w0-0": Source(id="w0-0", kind="page", title="甲", url=URL, provider="x", quotes=[], number=1)
}
KNOWN = Evidence({"w0-0": Record(["故宫门票 60 元，周一闭馆。"])}, question="故宫")


async def checked(
    body: str,
    judge: Ask | None,
    *,
    seconds: float = 5,
    beside: bool = True,
    rests_on: Evidence = KNOWN,
    late: Callable[[], None] = lambda: None,
    tells: bool = False,
    language: Language = "zh",
    sources: Mapping[str, Source] = SOURCES,
) -> Checked:
    """Return what comes of a text that streams piece by piece."""
    evidence = asyncio.ensure_future(known(rests_on))
    check = ClaimCheck(evidence, [], sources, language, judge, beside, seconds, tells=tells)
    check.used[:] = sources.values()
    for at in range(0, len(body), 7):
        check.feed(body[at : at + 7])
        await asyncio.sleep(0)
    await check.finish(body, late)
    check.stop()
    return check.finished(body, {})


async def known(evidence: Evidence = KNOWN) -> Evidence:
    return evidence


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


async def test_a_ruling_on_a_part_that_a_sentence_does_not_have_is_one_on_the_sentence() -> None:
    async def of_parts(batch: Sequence[Statement], evidence: Evidence) -> list[Ruling]:
        return [Ruling.model_validate({"id": f"{one.name}b", **SUPPORTED}) for one in batch]

    done = await checked(f"门票60元[1]({URL})。", of_parts)
    assert done.counts["supported"] == 1


async def test_only_what_a_judge_ruled_on_is_told_as_checked() -> None:
    told = list[tuple[int, int]]()
    judge, evidence = Reader(门票=SUPPORTED), asyncio.ensure_future(known())
    check = ClaimCheck(
        *(evidence, [], SOURCES, "zh", judge, True, 5), told=lambda *count: told.append(count)
    )
    await check.finish(f"门票60元[1]({URL})。周一也开放[1]({URL})。")
    assert told[-1] == (1, 2)


async def test_a_text_from_memory_alone_is_judged_and_marked_and_none_of_it_is_taken_out() -> None:
    nothing = Evidence({}, question="埃菲尔铁塔多高")
    body = "不客气。\n\n铁塔高330米。门票要29欧元。"
    reader = Reader(不客气={"v": "o"}, 铁塔={"v": "n", "fix": "-"}, 门票={"v": "n", "fix": "-"})
    done = await checked(body, reader, rests_on=nothing)
    assert done.text.startswith("不客气。\n\n铁塔高330米†。门票要29欧元†。")
    assert (done.counts["own"], done.counts["marked"], done.missing) == (1, 2, 2)
    done = await checked(body, None, rests_on=nothing)
    assert "†" not in done.text
    assert done.counts["unchecked"] == done.counts["total"] == 3


async def test_a_heading_that_states_something_is_judged_and_keeps_its_form() -> None:
    cited = f"故宫门票60元[1]({URL})。"
    body = f"# 故宫门票80元\n\n{cited}\n\n**每天都开放的地方**\n\n{cited}\n\n## 门票\n\n{cited}"
    reader = Reader(
        故宫门票80元={"v": "x", "p": ["1.1"], "bad": ["80元"], "says": "60 元",
                 "fix": "故宫门票60元 [1]"},
        每天={"v": "n", "bad": ["每天都开放"], "fix": "-"},
        门票={"v": "s", "p": ["1.1"]},
    )  # fmt: skip
    done = await checked(body, reader)
    assert done.text.startswith(f"# 故宫门票60元\n\n{cited}\n\n**每天都开放†的地方**")
    assert "\n## 门票\n" in done.text
    assert [plain for batch in reader.batches for plain in batch].count("门票") == 0
    assert done.counts["total"] == 5


async def test_a_heading_that_no_judge_rules_on_is_not_counted() -> None:
    """A trip's "Day 2: from the harbour to the old town" stayed "not checked"."""
    body = f"## 第2天：从港口一直走到老城里的3个博物馆\n\n故宫门票60元[1]({URL})。"
    done = await checked(body, Reader(故宫=SUPPORTED))
    assert (done.counts["total"], done.counts["supported"], done.counts["unchecked"]) == (1, 1, 0)
    assert done.text.startswith("## 第2天")
    done = await checked(body, None)
    assert (done.counts["total"], done.counts["unchecked"]) == (1, 1)


async def test_a_title_that_repeats_the_question_states_nothing() -> None:
    """A report's title was told to be a statement that nobody had checked."""
    asked = Evidence({}, question="埃菲尔铁塔到底有多高？")
    done = await checked(
        "# 埃菲尔铁塔到底有多高\n\n不客气。", Reader(不客气={"v": "o"}), rests_on=asked
    )
    assert (done.counts["total"], done.counts["unchecked"]) == (1, 0)


async def test_every_statement_is_judged_once_also_those_of_blocks_that_ended_early() -> None:
    blocks = [f"第{n}句门票60元[1]({URL})。" for n in range(40)]
    reader = Reader(门票=SUPPORTED)
    done = await checked("\n\n".join(blocks), reader)
    asked = [plain for batch in reader.batches for plain in batch]
    assert sorted(asked) == sorted(f"第{n}句门票60元。" for n in range(40))
    assert len(reader.batches) <= 5
    assert done.counts["supported"] == 40


async def test_no_sign_that_code_fills_in_is_judged_nor_what_its_row_will_cite() -> None:
    signed = """| | 做什么 | 路 | 合计 |
|---|---|---|---|
| 一 | 第1处门票60元 | [>walking] | 免费 |

第2处门票60元，共[=]。
"""
    others = "".join(f"\n第{n}句门票60元[1]({URL})。\n" for n in range(20))
    reader = Reader(门票=SUPPORTED)
    check = ClaimCheck(asyncio.ensure_future(known()), [], SOURCES, "zh", reader)
    check.used[:] = SOURCES.values()
    check.feed(f"{signed}{others}\n")
    filled = signed.replace("[>walking]", f"步行 [1]({URL})").replace("[=]", "120元")
    await check.finish(filled + others)
    asked = [plain for batch in reader.batches for plain in batch]
    assert len(asked) == len({*asked}) > 20
    assert "第2处门票60元，共120元。" in asked
    assert not any("[" in plain for plain in asked)


async def test_lines_of_a_list_are_judged_while_it_goes_on_and_the_last_few_at_its_end() -> None:
    reader = Reader(门票=SUPPORTED)
    await checked("\n".join(f"- 第{n}处门票60元[1]({URL})。" for n in range(18)), reader)
    assert [len(batch) for batch in reader.batches] == [12, 6]


async def test_what_is_left_at_the_end_is_asked_in_calls_that_take_little_time() -> None:
    reader = Reader(门票=SUPPORTED)
    await checked(" ".join(f"第{n}处门票60元[1]({URL})。" for n in range(10)), reader)
    assert [len(batch) for batch in reader.batches] == [5, 5]


async def test_a_text_that_is_withdrawn_costs_the_next_one_no_calls() -> None:
    reader = Reader(门票=SUPPORTED)
    check = ClaimCheck(asyncio.ensure_future(known()), [], SOURCES, "zh", reader)
    check.used[:] = SOURCES.values()
    check.feed("".join(f"想到第{n}句。\n\n" for n in range(400)))
    check.begin()
    body = "\n\n".join(f"第{n}句门票60元[1]({URL})。" for n in range(40))
    check.feed(f"{body[:200]}\n\n")
    await check.finish(body)
    assert check.finished(body, {}).counts["supported"] == 40
    assert not [plain for batch in reader.batches for plain in batch if "想到" in plain]


async def test_no_answer_costs_more_than_sixteen_calls() -> None:
    reader = Reader()
    done = await checked("\n\n".join(f"第{n}句门票60元。" for n in range(400)), reader)
    assert len(reader.batches) == 16
    assert done.counts["unchecked"] == done.counts["total"] == 400


async def test_a_quote_that_a_judge_puts_together_of_two_places_is_found() -> None:
    told: dict[str, object] = {
        "v": "x",
        "p": ["1.1"],
        "bad": ["50元"],
        "says": "周一闭馆；门票 60 元",
    }
    done = await checked(f"故宫门票50元[1]({URL})。", Reader(门票=told))
    assert "‡" in done.text


async def test_what_fails_is_said_as_the_judge_would_where_that_is_borne_out() -> None:
    wrong: dict[str, object] = {
        "v": "p", "p": ["1.1"], "bad": ["有免费轮椅"], "fix": "故宫门票60元 [1]。",
    }  # fmt: skip
    reader = Reader(轮椅=wrong, 门票60元=SUPPORTED)
    done = await checked(f"故宫门票60元，有免费轮椅[1]({URL})。", reader)
    assert done.counts["revised"] == len(reader.batches) == 1
    assert done.text.startswith(f"故宫门票60元[1]({URL})。")
    assert "†" not in done.text


@pytest.mark.parametrize("fix", ["故宫门票60元 [1]。", "门票：故宫门票60元 [1]。"])
async def test_a_wording_keeps_the_head_that_its_statement_begins_with(fix: str) -> None:
    wrong: dict[str, object] = {"v": "p", "p": ["1.1"], "bad": ["有免费轮椅"], "fix": fix}
    reader = Reader(轮椅=wrong, 门票=SUPPORTED)
    done = await checked(f"- **门票**：故宫门票60元，有免费轮椅[1]({URL})。", reader)
    assert done.text.startswith(f"- **门票**：故宫门票60元[1]({URL})。")


async def test_a_cell_that_says_what_was_not_found_is_not_judged_by_its_row_s_sources() -> None:
    row = f"| 门 | 票 | 票价 |\n|---|---|---|\n| 甲[1]({URL}) | 60元 | 未写 |\n"
    seen: dict[str, Sequence[str]] = {}

    async def judge(batch: Sequence[Statement], evidence: Evidence) -> list[Ruling]:
        seen.update({one.plain: one.sources for one in batch})
        return []

    check = ClaimCheck(asyncio.ensure_future(known()), [*SOURCES.values()], SOURCES, "zh", judge)
    check.cites = [(row.index("[1]"), "w0-0")]
    await check.finish(row)
    assert seen == {"60元": ("w0-0",), "未写": ("w0-0",)}
    check = ClaimCheck(asyncio.ensure_future(known()), [*SOURCES.values()], SOURCES, "zh", judge)
    check.cites = [(row.index("[1]"), "w0-0"), (row.index("未写") + 2, "none")]
    await check.finish(row)
    assert seen == {"60元": ("w0-0",), "未写": ()}


async def test_what_a_report_begins_with_is_judged_by_what_the_rest_of_it_cites() -> None:
    """Its summary was judged while nobody knew yet which sources its sections would cite."""
    seen: dict[str, Sequence[str]] = {}

    async def judge(batch: Sequence[Statement], evidence: Evidence) -> list[Ruling]:
        seen.update({one.plain: one.drafted for one in batch})
        return []

    check = ClaimCheck(asyncio.ensure_future(known()), [*SOURCES.values()], SOURCES, "zh", judge)
    check.sums_up = True
    body = "".join(f"第{n}句。\n\n" for n in range(30)) + f"故宫门票60元[1]({URL})。\n"
    check.feed(body)
    await asyncio.sleep(0)
    await check.finish(body)
    assert len(seen) == 31
    assert [seen[f"第{n}句。"] for n in range(12)] == [("w0-0",)] * 12


async def test_a_text_is_mended_once_however_often_it_is_read_as_its_check_has_left_it() -> None:
    judge = Reader(门票=SUPPORTED)
    check = ClaimCheck(asyncio.ensure_future(known()), [*SOURCES.values()], SOURCES, "zh", judge)
    await check.finish(f"故宫门票60元[1]({URL})。")
    assert check.mended() is check.mended()
    await check.finish(f"故宫门票60元[1]({URL})。好。")
    assert check.mended()[-1].text.endswith("好。")


async def test_a_statement_that_stands_nowhere_leaves_the_line_that_says_more() -> None:
    gone: dict[str, object] = {"v": "n", "fix": "-"}
    text = f"故宫门票60元[1]({URL})。有免费轮椅。"
    quiet = await checked(text, Reader(轮椅=gone))
    assert "轮椅" not in quiet.text
    assert say("answer.left_out", "zh", count=1) not in quiet.text
    for language in ("zh", "de"):
        told = await checked(text, Reader(轮椅=gone), tells=True, language=language)
        line = say("answer.left_out", language, what="有免费轮椅")
        # It begins a line of its own.
        assert f"\n\n{line[0].upper()}{line[1:]}" in told.text
    done = await checked("有免费轮椅。", Reader(轮椅=gone), tells=True)
    assert say("answer.left_out", "zh", count=1) not in done.text
    assert "有免费轮椅†" in done.text


BAD: dict[str, object] = {"v": "p", "p": ["1.1"], "bad": ["有免费轮椅"]}
"""A ruling that has no wording."""
TEXT = f"故宫门票60元，有免费轮椅[1]({URL})。"


async def test_a_text_that_cites_nothing_gets_sources_unless_it_says_below_that_it_has_none() -> (
    None
):
    for quoted, shown in (
        ("", f"故宫门票60元[1]({URL})。"),
        ("没有引用。", "故宫门票60元。\n\n没有引用。"),
    ):
        check = ClaimCheck(
            asyncio.ensure_future(known()), [], SOURCES, "zh", Reader(门票=SUPPORTED)
        )
        check.used[:] = SOURCES.values()
        check.quoted = quoted
        await check.finish("故宫门票60元。")
        done = check.finished(f"故宫门票60元。\n\n{quoted}".rstrip(), {})
        assert done.text.startswith(shown)
        assert done.counts["supported"] == 1


PRICED = Evidence({
    "w0-0": Record(["串烤店：★4.3，¥85/人，10:00-22:00。"]), "w1-0": Record(["汉堡店 ¥110/人。"]),
})  # fmt: skip


async def test_a_figure_that_nobody_accused_stays_in_the_new_wording() -> None:
    text = f"串烤店¥85/人，六人510元，10:00-23:00[1]({URL})。"
    wrong: dict[str, object] = {
        "v": "x", "p": ["1.1"], "bad": ["10:00-23:00"], "says": "10:00-22:00",
        "fix": "串烤店¥85/人，六人510元，每天开到22:00 [1]。",
    }  # fmt: skip
    done = await checked(text, Reader(**{"23:00": wrong, "22:00": SUPPORTED}), rests_on=PRICED)
    assert "六人510元，每天开到22:00" in done.text
    assert "‡" not in done.text


async def test_what_says_otherwise_is_not_cited_for_what_is_left() -> None:
    text = f"串烤店¥85/人，汉堡店¥90/人[1]({URL})。"
    told: dict[str, object] = {
        "v": "x", "p": ["2.1"], "bad": ["，汉堡店¥90/人"], "says": "汉堡店 ¥110/人",
        "fix": "串烤店¥85/人 [1]。",
    }  # fmt: skip
    done = await checked(text, Reader(汉堡=told), rests_on=PRICED)
    assert done.text.startswith(f"串烤店¥85/人[1]({URL})。")


async def test_where_one_call_is_served_at_a_time_the_judge_waits_for_the_text() -> None:
    reader, at_once, most = Reader(门票=SUPPORTED), 0, 0
    body = "\n\n".join(f"第{n}句门票60元[1]({URL})。" for n in range(40))

    async def judge(batch: Sequence[Statement], evidence: Evidence) -> list[Ruling]:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1
        return await reader(batch, evidence)

    check = ClaimCheck(asyncio.ensure_future(known()), [], SOURCES, "zh", judge, beside=False)
    check.used[:] = SOURCES.values()
    for at in range(0, len(body), 7):
        check.feed(body[at : at + 7])
        await asyncio.sleep(0)
    assert not reader.batches
    await check.finish(body)
    assert check.finished(body, {}).counts["supported"] == 40
    assert (most, len(reader.batches)) == (1, 4)


CAFE = cast(Place, {
    "id": "amap:1", "name": "甲咖啡", "source": "w0-0", "cost": 40.0, "rating": 4.5,
    "distance_m": 306, "open_time": "08:00-22:00",
})  # fmt: skip
OF_A_PLACE = Evidence({"w0-0": Record(["甲咖啡 | ★4.5 | ¥40 | 306 m | 08:00-22:00"], CAFE)})
WRONG = ("人均60元", "评分4.9", "08:00-23:00营业")
MARKED_SO = ("人均60元‡", "评分4.9‡", "08:00-23:00‡营业")
UNKNOWN = f"甲咖啡有免费轮椅[1]({URL})。"


async def fails(batch: Sequence[Statement], evidence: Evidence) -> list[Ruling]:
    return []


async def never(batch: Sequence[Statement], evidence: Evidence) -> list[Ruling]:
    await asyncio.Event().wait()
    return []


async def without_budget(
    batch: Sequence[Statement], evidence: Evidence
) -> list[Ruling] | AgentError:
    models = cast(ModelClient, Spent())
    return await Judge(models, "m", cast(Meter, None), MARKED)(batch, evidence)


class Spent:
    """Models of a run that may ask nothing more."""

    async def ask(self, *_arguments: object, **_options: object) -> None:
        raise BudgetExceeded("max_model_calls", 40)


@pytest.mark.parametrize("judge", [None, fails, never, without_budget])
async def test_where_nobody_judges_only_a_place_s_own_record_marks(judge: Ask | None) -> None:
    told = [f"甲咖啡{words}[1]({URL})。" for words in WRONG]
    done = await checked("".join([*told, UNKNOWN]), judge, seconds=0.01, rests_on=OF_A_PLACE)
    marked = [f"甲咖啡{words}[1]({URL})。" for words in MARKED_SO]
    assert done.text.startswith("".join([*marked, UNKNOWN]))
    assert "†" not in done.text
    counts = [done.counts[name] for name in ("revised", "marked", "unchecked")]
    assert counts == [0, 3, 1]
    right = f"甲咖啡人均40元，评分4.5，08:00-22:00营业[1]({URL})。"
    done = await checked(right, judge, seconds=0.01, rests_on=OF_A_PLACE)
    assert done.counts["unchecked"] == done.counts["total"] == 1
    assert done.counts.get("late", 0) == (judge is never)


async def test_a_judge_that_is_too_late_leaves_all_unchecked_and_nothing_marked() -> None:
    async def late(batch: Sequence[Statement], evidence: Evidence) -> list[Ruling]:
        await asyncio.Event().wait()
        return []

    told = list[str]()
    done = await checked("故宫门票80元。", late, seconds=0.01, late=lambda: told.append("late"))
    assert (done.counts["unchecked"], done.counts["late"]) == (1, 1)
    assert (done.text, told) == ("故宫门票80元。", ["late"])


async def test_a_judge_in_time_is_told_to_nobody() -> None:
    told = list[str]()
    done = await checked(TEXT, Reader(门票=SUPPORTED), late=lambda: told.append("late"))
    assert "late" not in done.counts
    assert not told


async def test_a_late_verdict_still_corrects_the_message_and_nothing_more_is_asked() -> None:
    told, asked = asyncio.Event(), list[int]()
    reader = Reader(轮椅=BAD, 门票=SUPPORTED)

    async def judge(batch: Sequence[Statement], evidence: Evidence) -> list[Ruling]:
        asked.append(len(batch))
        await told.wait()
        return await reader(batch, evidence)

    body = "\n\n".join([TEXT, *(f"第{n}句门票60元[1]({URL})。" for n in range(30))])
    done = await checked(body, judge, seconds=0.1, beside=False, late=told.set)
    assert done.text.startswith(f"故宫门票60元，有免费轮椅†[1]({URL})。")
    assert asked == [11]
    assert (done.counts["supported"], done.counts["late"]) == (10, 20)


async def test_without_a_judge_nothing_is_asked_and_all_is_told_as_unchecked() -> None:
    done = await checked(f"故宫门票80元[1]({URL})。", None)
    assert done.counts["unchecked"] == done.counts["total"] == 1
    assert "†" not in done.text


def test_a_text_whose_check_broke_says_that_nobody_checked_it() -> None:
    done = unchecked("前\n\n正文。\n\n后", "正文。", [], "zh")
    assert done.text == f"前\n\n正文。\n\n{say('answer.not_checked', 'zh')}\n\n后"
    assert done.text[slice(*done.extent)] == "正文。"


async def test_a_price_of_several_people_is_not_taken_for_a_place_s_own() -> None:
    reader = Reader(甲咖啡={"v": "x", "p": ["1.1"], "bad": ["90元"], "says": "¥40"})
    done = await checked(f"甲咖啡两个人90元[1]({URL})。", reader, rests_on=OF_A_PLACE)
    assert "90元‡" in done.text


async def test_a_figure_that_no_source_has_is_told_with_the_sentence_that_nobody_checked() -> None:
    body = f"门票60元[1]({URL})。故宫于1987年开放[1]({URL})。"
    done = await checked(body, Reader(门票=SUPPORTED, 开放=SUPPORTED))
    assert [row["verdict"] for row in done.statements] == ["supported", "unchecked"]
    row = done.statements[1]
    assert (row["spans"], row["source"], row["quote"]) == (["1987年"], None, None)
    assert "1987年" in done.text[row["start"] : row["end"]]


async def test_sentences_that_nobody_judged_are_told_where_there_is_room() -> None:
    few = await checked("\n\n".join(f"第{n}句门票60元。" for n in range(4)), Reader())
    assert [row["verdict"] for row in few.statements] == ["unchecked"] * 4
    many = await checked("\n\n".join(f"第{n}句门票60元。" for n in range(400)), Reader())
    assert many.statements == []
