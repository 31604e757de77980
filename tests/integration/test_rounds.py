"""A report in rounds: draft, check, one revision by edits, check of what is new."""

import asyncio
import re
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from agent.assistants.common import rounds
from agent.assistants.common.rounds import PHASE, REVIEW
from agent.core.progress import event
from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.model.text import block, lines
from agent.texts import say
from tests.support.deep_lab import ZH, DeepLab, Researcher, deep_laboratory
from tests.support.lab import answer_of, told
from tests.support.long_lab import Rule, Web, says_json

RIGHT, WRONG, MENDED = "成本为40美元/千瓦时", "成本降到999美元", "成本在第2页为42美元/千瓦时"
DRAFT = f"# 报告\n\n{RIGHT}[^t0-0]。{WRONG}[^t0-1]。"


def writes(text: str) -> Rule:
    return lambda turn: ModelReply(text=text)


def judges(turn: ModelTurn) -> ModelReply:
    """Judge what has the wrong figure as found nowhere, and everything else as borne out."""
    rulings = list[dict[str, Any]]()
    passages = [line.split()[0] for line in lines(turn.user, "passages")]
    for line in lines(turn.user, "statements"):
        number = line.split()[0]
        if "999" in line:
            rulings.append({"id": number, "v": "n", "bad": ["999美元"]})
        else:
            rulings.append({"id": number, "v": "s", "p": passages[:1]})
    return ModelReply(json={"rulings": rulings})


def with_ids(turn: ModelTurn, text: str) -> str:
    """Return words whose `[^t0-2]` is the page of that number, by its id in the prompt."""
    ids = {f"t0-{page}": name for name, page in re.findall(r"\[\^(\S+?)\] 成本 0 (\d)", turn.user)}
    return re.sub(r"(?<=\[\^)t0-\d(?=\])", lambda match: ids.get(match[0], match[0]), text)


def edits(*changes: tuple[str, str], inserts: tuple[tuple[str, str], ...] = ()) -> Rule:
    return lambda turn: ModelReply(
        json={
            "edits": [{"id": name, "text": with_ids(turn, text)} for name, text in changes],
            "inserts": [{"after": name, "text": with_ids(turn, text)} for name, text in inserts],
        }
    )


def lab_of(draft: str = DRAFT, **rules: Rule) -> Any:
    given = {"deep_report": writes(draft), "claim_check": judges, **rules}
    return deep_laboratory(Researcher("成本", **given))


def judged(lab: DeepLab) -> list[str]:
    """Return the statements that the judge was shown, in order."""
    turns = lab.llm.asked("claim_check")
    return [line for turn in turns for line in lines(turn.user, "statements")]


async def test_where_nothing_fails_the_text_is_read_once_for_what_it_lacks() -> None:
    hole = edits(inserts=(("1", f"{MENDED}[^t0-2]。"),))
    async with lab_of(f"# 报告\n\n{RIGHT}[^t0-0]。", revise=hole) as lab:
        state = await lab.ask(ZH)
        [asked] = lab.llm.asked(PHASE)
    assert block(asked.user, "failed") == ""
    assert f"{RIGHT}[1](" in str(answer_of(state).text)
    assert f"{MENDED}[2](" in str(answer_of(state).text)


async def test_what_a_reader_would_miss_is_asked_part_by_part_and_mended_by_the_revision() -> None:
    found = says_json(
        parts=[
            {"asked": "成本", "at": ["1"], "lacks": ""},
            {"asked": "第2页的成本", "at": [], "lacks": "见第2页"},
            {"asked": "安全", "at": [], "lacks": ""},
        ],
        findings=[{"at": [1, "2"], "wrong": "说法不一", "mend": "都写40"}],
    )
    hole = edits(inserts=(("1", f"{MENDED}[^t0-2]。"),))
    draft = f"# 报告\n\n{RIGHT}[^t0-0]。"
    async with lab_of(draft, review=found, revise=hole) as lab:
        state = await lab.ask(ZH)
        [read], [mended, _] = lab.llm.asked(REVIEW), lab.llm.asked(PHASE)
    assert ZH in block(read.user, "question")
    assert block(read.user, "plan")
    assert "⟨1⟩" in block(read.user, "draft")
    assert read.system == mended.system
    assert block(mended.user, "review").splitlines() == [
        "r1 asked: 第2页的成本: 见第2页",
        "r2 asked: 安全: no statement answers it",
        "r3 1, 2: 说法不一 → 都写40",
    ]
    text = str(answer_of(state).text)
    assert f"{MENDED}[2](" in text
    assert "说法不一" not in text


async def test_review_and_revision_see_the_weekday_of_each_day_that_the_draft_names() -> None:
    today = datetime.now(ZoneInfo("Asia/Shanghai")).date()
    before, far = today - timedelta(20), today + timedelta(200)
    draft = (
        f"# 报告\n\n{RIGHT}[^t0-0]。{far.year}年{far.month}月{far.day}日出发，"
        f"{before.month} 月 {before.day} 日检测，2 月 30 日没有，{far.month}月{far.day}日回信。"
    )
    async with lab_of(draft) as lab:
        await lab.ask(ZH)
        turns = [*lab.llm.asked(REVIEW), *lab.llm.asked(PHASE)]
    assert len(turns) == 2
    for turn in turns:
        told = block(turn.user, "today")
        assert f"{far:%Y-%m-%d %a}" in told
        assert f"{before:%Y-%m-%d %a} (past, 20 days ago), " in told
        assert "-02-30" not in told
        assert told.count(f"{far:-%m-%d}") == 1, "the day without a year is the one that has one"


async def test_review_and_revision_are_told_how_many_words_the_draft_has() -> None:
    async with lab_of(f"# Two heads\n\n{RIGHT}[^t0-0]。") as lab:
        await lab.ask(ZH)
        turns = [*lab.llm.asked(REVIEW), *lab.llm.asked(PHASE)]
    count = 2 + len([char for char in RIGHT if "\u3400" <= char <= "\u9fff"])
    assert [abs(int(block(turn.user, "words")) - count) < 5 for turn in turns] == [True, True]


async def test_a_text_in_which_neither_check_nor_review_finds_fault_is_not_revised() -> None:
    whole = says_json(parts=[{"asked": "成本", "at": "1", "lacks": ""}], findings=[])
    async with lab_of(f"# 报告\n\n{RIGHT}[^t0-0]。", review=whole) as lab:
        state = await lab.ask(ZH)
        assert len(lab.llm.asked(REVIEW)) == 1
        assert lab.llm.asked(PHASE) == []
    assert RIGHT in str(answer_of(state).text)


async def test_what_no_statement_answers_is_open_and_a_line_without_end_hides_no_other() -> None:
    found = says_json(
        parts=[{"asked": "成本", "at": ["99", "x"], "lacks": ""}],
        findings=[
            {"at": [str(at) for at in range(3000)], "wrong": "长" * 6000},
            {"at": "1", "wrong": "说法不一"},
        ],
    )
    async with lab_of(f"# 报告\n\n{RIGHT}[^t0-0]。", review=found) as lab:
        await lab.ask(ZH)
        mended, _ = lab.llm.asked(PHASE)
    first, _, last = block(mended.user, "review").splitlines()
    assert first == "r1 asked: 成本: no statement answers it"
    assert last == "r3 1: 说法不一"


async def test_a_review_that_fails_leaves_the_revision_its_own_reading() -> None:
    mends = edits(("2", f"{MENDED}[^t0-2]。"))
    async with lab_of(review=lambda turn: ModelReply(text="no json"), revise=mends) as lab:
        state = await lab.ask(ZH)
        [asked] = lab.llm.asked(PHASE)
    assert block(asked.user, "review") == ""
    assert "999" not in str(answer_of(state).text)


async def test_lines_of_the_review_that_no_edit_settles_are_asked_for_once_more() -> None:
    found = says_json(
        parts=[{"asked": "安全", "at": [], "lacks": ""}, {"asked": "寿命", "at": [], "lacks": ""}],
        findings=[{"at": "1", "wrong": "没有日期"}, {"at": "1", "wrong": "语气"}],
    )

    def mends(turn: ModelTurn) -> ModelReply:
        if block(turn.user, "edits_so_far"):
            insert = {"after": "1", "text": with_ids(turn, f"{MENDED}[^t0-2]。"), "settles": ["r2"]}
            return ModelReply(json={"inserts": [insert]})
        edit = {"id": "1", "text": with_ids(turn, f"2025年{RIGHT}[^t0-0]。"), "settles": "r3"}
        passed = [{"line": "r4", "why": "没有不妥"}, {"line": "r1", "why": ""}]
        return ModelReply(json={"edits": [edit], "passed": passed})

    async with lab_of(f"# 报告\n\n{RIGHT}[^t0-0]。", review=found, revise=mends) as lab:
        state = await lab.ask(ZH)
        first, second = lab.llm.asked(PHASE)
    assert len(block(first.user, "review").splitlines()) == 4
    assert [line[:2] for line in block(second.user, "review").splitlines()] == ["r1", "r2"]
    text = str(answer_of(state).text)
    assert f"2025年{RIGHT}[1](" in text
    assert MENDED in text
    assert told(state)["checks"]["revision"] == {
        "failed": 0, "edits": 1, "inserts": 1, "looks": 0, "passed": 2, "open": 1,
    }  # fmt: skip


async def test_a_revision_without_edits_leaves_the_draft_as_it_is() -> None:
    async with lab_of(f"# 报告\n\n{RIGHT}[^t0-0]。", revise=edits()) as lab:
        state = await lab.ask(ZH)
    assert "revision" not in told(state)["checks"]
    assert RIGHT in str(answer_of(state).text)


async def test_what_fails_is_mended_once_and_only_what_is_new_is_judged_again() -> None:
    async with lab_of(revise=edits(("2", f"{MENDED}[^t0-2]。"))) as lab:
        state = await lab.ask(ZH)
        [asked], seen = lab.llm.asked(PHASE), judged(lab)
    text = str(answer_of(state).text)
    assert f"{RIGHT}[1]" in text
    assert f"{MENDED}[2]" in text
    assert "999" not in text
    assert "†" not in text
    shown = with_ids(asked, f"⟨1⟩{RIGHT}[^t0-0]。⟨2⟩{WRONG}[^t0-1]。")
    assert shown in block(asked.user, "draft")
    failed = block(asked.user, "failed")
    assert failed.startswith("2: missing: 999美元")
    assert with_ids(asked, "see [^t0-1]") in failed
    assert with_ids(asked, "[^t0-1] ") in block(asked.user, "sources")
    assert sum(line.split(" ", 1)[1].startswith(RIGHT) for line in seen) == 1
    assert sum(line.split(" ", 1)[1].startswith(MENDED) for line in seen) == 1
    assert told(state)["checks"]["revision"] == {
        "failed": 1, "edits": 1, "inserts": 0, "looks": 0, "passed": 0, "open": 0,
    }  # fmt: skip
    assert told(state)["checks"]["claims"]["supported"] == 2


async def test_what_still_fails_after_the_revision_is_marked() -> None:
    async with lab_of(revise=edits(("2", "如今成本为999美元[^t0-1]。"))) as lab:
        state = await lab.ask(ZH)
        assert len(lab.llm.asked(PHASE)) == 2
    assert "999美元†" in str(answer_of(state).text)


async def test_what_a_revision_still_tells_wrongly_is_asked_for_once_more_wherever_it_is_told() -> (
    None
):
    replies = [
        edits(("2", "如今成本为999美元[^t0-1]。")),
        edits(
            ("1", "成本见下一句[^t0-0]。"),
            ("2", f"{MENDED}[^t0-2]。"),
            inserts=(("2", "另加一句[^t0-2]。"), ("1", "此句又为999美元[^t0-1]。")),
        ),
    ]
    async with lab_of(revise=lambda turn: replies.pop(0)(turn)) as lab:
        state = await lab.ask(ZH)
        _, second = lab.llm.asked(PHASE)
    text = str(answer_of(state).text)
    assert f"{MENDED}[3]" in text
    assert "成本见下一句[1]" in text
    assert "另加一句" in text, "an edit may have left out what an insert tells instead"
    assert "此句又为999美元†" in text, "what is added is checked as an edit is"
    assert block(second.user, "failed").startswith("2: missing: 999美元")
    assert "如今成本为999美元" in block(second.user, "draft")
    assert not block(second.user, "review")
    assert told(state)["checks"]["claims"]["supported"] == 3


async def test_a_statement_behind_a_change_in_its_paragraph_is_judged_again() -> None:
    behind = "同一次试验中电池用了很长的时间，温度没有超过规定范围，各方对此都没有异议[^t0-0]。"
    for apart in ("", "\n\n"):
        draft = f"# 报告\n\n{RIGHT}[^t0-0]。{WRONG}[^t0-1]。{apart}{behind}"
        async with lab_of(draft, revise=edits(("2", ""))) as lab:
            state = await lab.ask(ZH)
            asked = [line for line in judged(lab) if "试验中" in line]
        assert len(asked) == 2 - bool(apart)
        assert "999" not in str(answer_of(state).text)
        assert say("answer.left_out", "zh", what="") not in str(answer_of(state).text)


async def test_an_id_that_is_no_source_goes_to_the_reviser_and_one_not_shown_is_none() -> None:
    async with lab_of(
        f"# 报告\n\n{RIGHT}[^t0-0]。第二句也有来源[^t9-9]。",
        revise=edits(inserts=(("1", "另有一句[^t7-7]。"),)),
    ) as lab:
        state = await lab.ask(ZH)
        [asked] = lab.llm.asked(PHASE)
    failed = block(asked.user, "failed")
    assert re.fullmatch(r"2: cites t9-9, which is no source\n  see \[\^[a-z\d-]+\]", failed)
    # A page bears both out, so that they cite that one.
    text = re.sub(r"\]\([^)]+\)", "]", str(answer_of(state).text))
    assert "另有一句[1]。第二句也有来源[1]。" in text
    assert told(state)["checks"]["unknown_ids_removed"] == 2


async def test_an_id_that_is_no_source_is_told_of_its_statement_past_what_code_fills_in() -> None:
    table = "| 项目 | 去 |\n|---|---|\n| 甲 | [>walking] |\n| 乙 | [>walking] |\n"
    draft = f"# 报告\n\n{table}\n有来源[^t9-9]。{RIGHT}[^t0-0]。"
    async with lab_of(draft) as lab:
        await lab.ask(ZH)
        [asked, *_] = lab.llm.asked(PHASE)
    [name] = re.findall(r"⟨(\w+)⟩有来源", block(asked.user, "draft"))
    assert block(asked.user, "failed").startswith(f"{name}: cites t9-9, which is no source")


async def test_a_bare_number_in_an_edit_is_no_marker() -> None:
    async with lab_of(revise=edits(("2", f"{MENDED}[1][^t0-2]。"))) as lab:
        state = await lab.ask(ZH)
    assert f"{MENDED}[2](" in str(answer_of(state).text)


async def test_a_revision_that_fails_leaves_the_draft_with_its_signs() -> None:
    async with lab_of(revise=lambda turn: ModelReply(text="no json")) as lab:
        state = await lab.ask(ZH)
    text = str(answer_of(state).text)
    assert f"{RIGHT}[1]" in text
    assert "999美元†" in text


async def test_a_judge_that_fails_leaves_a_report_that_says_it_was_not_checked() -> None:
    async with lab_of(claim_check=lambda turn: ModelReply(text="no json")) as lab:
        state = await lab.ask(ZH)
        assert lab.llm.asked(PHASE) == []
    assert say("answer.not_checked", "zh") in str(answer_of(state).text)
    assert "999" in str(answer_of(state).text)


async def test_the_reader_sees_how_far_it_is_and_then_the_whole_text() -> None:
    async with lab_of(revise=edits(("2", f"{MENDED}[^t0-2]。"))) as lab:
        kinds, first_text = list[str](), -1
        async for mode, part in lab.graph.astream(
            {"messages": ZH},
            {"configurable": {"thread_id": "p"}},
            context=lab.configured(),
            stream_mode=["messages", "custom"],
        ):
            if mode == "custom":
                kinds.append(part["type"])
            elif "报告" in str(part[0].text) and first_text < 0:
                first_text = len(kinds)
    assert kinds[kinds.index("answering") :] == [
        "answering", "judged", "revising", "judged", "done",
    ]  # fmt: skip
    assert first_text == len(kinds) - 1


async def test_draft_and_revision_begin_alike_and_the_revision_stays_small() -> None:
    long = "。".join(f"第{n}个说明，成本为{40 + n % 4}美元/千瓦时[^t0-0]" for n in range(300))
    async with lab_of(f"{DRAFT}\n\n{long}。") as lab:
        await lab.ask(ZH)
        [draft], [revision] = lab.llm.asked("deep_report"), lab.llm.asked(PHASE)
    assert draft.system == revision.system
    ids = [line.partition("]")[0] for line in lines(revision.user, "sources")]
    assert len(list(groupby(ids))) == len(set(ids)) > 1, "a page's passages stand together"
    size = len(re.findall("[\u3000-\u9fff\uff00-\uffef]", revision.user)) / 1.5
    assert size < 20_000


async def test_review_and_revision_see_all_that_the_text_cites_where_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = [f"Step {n}: copy the rows of table {n} before anything of it is dropped, then check."
             for n in range(30)]  # fmt: skip
    quote = " ".join(steps)
    web = Web(lambda title, number: f"{title}的第{number}页。成本为{40 + number}美元。{quote}")
    given: dict[str, Rule] = {"deep_report": writes(DRAFT), "claim_check": judges}
    seen, read = list[str](), list[str]()
    for room in (rounds._ROOM, 3000):
        monkeypatch.setattr(rounds, "_ROOM", room)
        async with deep_laboratory(Researcher("成本", **given), web=web) as lab:
            await lab.ask(ZH)
            [review], [mended] = lab.llm.asked(REVIEW), lab.llm.asked(PHASE)
        read.append(block(review.user, "sources"))
        told = block(mended.user, "sources")
        seen.append(told)
        assert with_ids(mended, "[^t0-1] ") in told, "what bears on a fault is there in any case"
        shown = told.splitlines()
        assert len(shown) == len({*shown}), "no passage stands there twice"
    for whole in (seen[0], read[0]):
        assert all(whole.count(step) >= 2 for step in steps), "of both pages that are cited"
    assert 0 < len(seen[1]) < len(seen[0])


async def test_what_is_done_is_said_again_as_long_as_it_lasts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rounds, "SECONDS_BETWEEN_SIGNS", 0)
    told, words = list[int](), 0
    with rounds._Signs(lambda sign: told.append(sign["count"])) as signs:
        signs.later(lambda: event("drafting", "write_report", count=words))
        for _ in range(8):
            words += 1
            await asyncio.sleep(0)
    said = len(told)
    await asyncio.sleep(0)
    assert told[0] > 0
    assert told[-1] >= 3
    assert len(told) == said


COSTS = f"""# 报告

两人一共[=]，{RIGHT}[^t0-0]。

| 项目 | 费用 |
|---|---|
| 门票 | 2 × 40 = 80元 |
| 午餐 | 2 × 60 = 120元 |
| **合计** | **[=]** |
"""


@pytest.mark.parametrize("lunch", ["2 × 75 = 150元", ""])
async def test_a_total_is_added_up_by_code_and_stays_right_when_the_revision_changes_a_row(
    lunch: str,
) -> None:
    row = f"| 午餐 | {lunch} |" if lunch else ""
    async with lab_of(COSTS, revise=edits(("3", row))) as lab:
        text = str(answer_of(await lab.ask(ZH)).text)
        shown = lab.llm.asked(PHASE)[0].user
    assert "两人一共200元" in shown
    total = "230元" if lunch else "80元"
    assert f"两人一共{total}" in text
    assert f"| **{total}** |" in text
    assert "[=]" not in text + shown.replace(block(shown, "lookups"), "")


async def test_a_total_of_a_text_that_nobody_judges_is_added_up_too() -> None:
    async with lab_of(COSTS) as lab:
        text = str(answer_of(await lab.ask(ZH, claim_check=False)).text)
    assert "两人一共200元" in text
    assert "| **合计** | **200元** |" in text


async def test_a_total_that_no_column_has_fails_until_a_revision_says_it() -> None:
    draft = f"# 报告\n\n两人一共[=]。{RIGHT}[^t0-0]。"
    async with lab_of(draft, revise=edits(("1", "两人一共80元。"))) as lab:
        state = await lab.ask(ZH)
        [asked, *_] = lab.llm.asked(PHASE)
    assert "1: unproved: [=]" in block(asked.user, "failed")
    assert told(state)["checks"]["revision"]["failed"] == 1
    assert "两人一共80元" in str(answer_of(state).text)
    async with lab_of(draft) as lab:
        left = str(answer_of(await lab.ask(ZH)).text)
    assert "[=]" not in left


async def test_a_total_that_code_has_added_up_stays_whatever_the_judge_says_of_it() -> None:
    def accuses(turn: ModelTurn) -> ModelReply:
        reply = judges(turn)
        found = lines(turn.user, "statements")
        named = [line.split()[0] for line in found if "一共200元" in line]
        rulings = [{"id": name, "v": "n", "bad": ["200元"], "fix": "-"} for name in named]
        return ModelReply(json={"rulings": [*(reply.json or {})["rulings"], *rulings]})

    async with lab_of(COSTS, claim_check=accuses) as lab:
        text = str(answer_of(await lab.ask(ZH)).text)
        shown = lab.llm.asked(PHASE)[0].user
    assert "两人一共200元，" in text
    assert "missing" not in block(shown, "failed")


TRIP = f"""# 报告

两人一共[=270元]，门票[=80元]，{RIGHT}[^t0-0]。

| 项目 | 人数 | 费用 |
|---|---|---|
| 船票 | 往返 | [=70元] |
| 门票 | 2 × 40元 | [=80元] |
| 午餐 | 2 × 60元 | 120元 |
| **合计** | | **[=270元]** |
"""


async def test_a_row_s_own_total_and_all_that_tells_it_follow_a_revision_past_its_judge() -> None:
    def accuses(turn: ModelTurn) -> ModelReply:
        rulings = (judges(turn).json or {})["rulings"]
        passage = lines(turn.user, "passages")[0].split()[0]
        for line in lines(turn.user, "statements"):
            if "一共" in line:
                fix = f"两人一共40美元，{RIGHT}[1]。"
                rulings.append({"id": line.split()[0], "v": "x", "p": [passage], "says": "40美元",
                                "bad": ["290元"], "fix": fix})  # fmt: skip
        return ModelReply(json={"rulings": rulings})

    anew = edits(("3", "| 门票 | 2 × 50元 | [=100元] |"))
    async with lab_of(TRIP, claim_check=accuses, revise=anew) as lab:
        text = str(answer_of(await lab.ask(ZH)).text)
        shown = "\n".join(judged(lab))
    assert "两人一共290元，门票100元" in text
    assert "| 船票 | 往返 | 70元 |" in text
    assert "| 门票 | 2 × 50元 | 100元 |" in text
    assert "**290元**" in text
    assert "[=" not in shown + text


DECLARED = f"# 报告\n\n{RIGHT}[^t0-0]。两块合[=两块: 2 × 40 = 80美元]，三块按假设的汇率合{{last}}。"
ASSUMED = "[=三块: 3 × 40 × ~8.765 = 1051.8 元]"


@pytest.mark.parametrize("judged", [True, False])
async def test_a_declared_sum_leaves_its_value_in_the_text_and_its_line_at_the_calculation(
    judged: bool,
) -> None:
    async with lab_of(DECLARED.format(last=ASSUMED)) as lab:
        text = str(answer_of(await lab.ask(ZH, claim_check=judged)).text)
    assert "两块合80美元[2a]，三块按假设的汇率合1051.8元[2b]。" in text
    lines = "   - a. 两块: 2 × 40 = 80美元\n   - b. 三块: 3 × 40 × 8.765 = 1051.8元（假设 8.765）"
    assert text.endswith(f"2. 计算\n{lines}")
    assert "[=" not in text


async def test_a_line_cites_the_sources_of_its_numbers_and_these_stand_in_the_list() -> None:
    draft = f"# 报告\n\n两块合[=两块: 2 × 42 [^t0-2] = 84 美元]，{RIGHT}[^t0-0]。"

    def writes_by_ids(turn: ModelTurn) -> ModelReply:
        return ModelReply(text=with_ids(turn, draft))

    async with lab_of(deep_report=writes_by_ids) as lab:
        state = await lab.ask(ZH)
    text, sources = str(answer_of(state).text), told(state)["sources"]
    assert "两块合84美元[1a]，成本为40美元/千瓦时[2](" in text
    assert [one["number"] for one in sources] == [1, 2, 3]
    assert sources[0]["sums"] == ["a. 两块: 2 × 42 = 84美元 [3]"]
    assert "   - a. 两块: 2 × 42 = 84美元 \\[3\\]\n2. [" in text
    assert sources[2]["url"].endswith("/2")
    assert "inputs" not in sources[0]


async def test_a_declared_sum_that_does_not_hold_goes_to_the_revision_with_the_reason() -> None:
    draft = DECLARED.format(last=ASSUMED.replace("~", "")) + "四块合[=4 × 40 = 190 美元]。"
    mended = edits(("2", f"两块合80美元，三块合{ASSUMED}。"), ("3", "四块合[=4 × 40 = 160 美元]。"))
    async with lab_of(draft, revise=mended) as lab:
        text = str(answer_of(await lab.ask(ZH)).text)
        [asked, *_] = lab.llm.asked(PHASE)
    failed = block(asked.user, "failed")
    assert "2: unproved: nowhere: 8.765" in failed
    assert "3: unproved: gives 4 × 40 = 160" in failed
    assert "[=4 × 40 = 190 美元]" in block(asked.user, "draft")
    assert "三块合1051.8元[2" in text
    assert "四块合160美元[2" in text
    assert "[=" not in text


async def test_a_declared_sum_that_nobody_mends_is_a_value_that_nothing_bears() -> None:
    draft = DECLARED.format(last="[=三块: 3 × 40 × 8.765 = 1051.8 元]")
    async with lab_of(draft) as lab:
        state = await lab.ask(ZH)
    text = str(answer_of(state).text)
    assert "三块按假设的汇率合1051.8元。" in text
    assert "8.765" not in text
    assert "[=" not in text
