"""The sets of statements, questions and demands: what their rows hold, and how they are scored."""

import json
from pathlib import Path
from typing import Any

import pytest
from evals import demands, questions, statements
from evals.demands import __main__ as demanding
from evals.questions import __main__ as reading
from evals.statements import __main__ as judging
from evals.statements import played

from agent.evidence.types import Constraints, Place


def statement(number: int, label: str, **more: Any) -> dict[str, Any]:
    return {"id": number, "label": label, "statement": "open daily until nine", **more}


def ruling(number: int, verdict: str, **more: Any) -> dict[str, Any]:
    return {"id": number, "verdict": verdict, **more}


def scored(rows: list[dict[str, Any]], *replies: dict[str, Any]) -> judging.Score:
    return judging.score(rows, {reply["id"]: reply for reply in replies})


def test_every_set_has_a_readme_and_one_id_a_row() -> None:
    sets = ((statements, judging), (questions, reading), (demands, demanding))
    for package, rows in ((package, module.load()) for package, module in sets):
        assert Path(*package.__path__).joinpath("README.md").exists()
        assert sorted(row["id"] for row in rows) == list(range(1, len(rows) + 1))


def test_the_halves_share_no_row_and_are_the_whole() -> None:
    for module in (judging, reading, demanding):
        odd, even = ({row["id"] for row in module.load(half)} for half in ("odd", "even"))
        assert not odd & even
        assert len(odd | even) == len(module.load())


def faults(row: judging.Row) -> list[str]:
    """Return what of a labelled statement does not fit the rest of it."""
    texts = {source["id"]: source["text"] for source in row["sources"]}
    named = {*row["cites"], *row.get("bears", ())}
    bearing = [texts[each] for each in row.get("bears", ())]
    fits = {
        "label": row["label"] in (*judging.TRUE, *judging.FALSE),
        "ids": named <= {*texts},
        "span": row.get("span", "") in row["statement"],
        "passage": "passage" not in row or any(row["passage"] in text for text in bearing),
        "formula": ("formula" in row) == (row["label"] == "computed"),
        "words": bool(row.get("span")) == (row["label"] in judging.FALSE),
        "cell": "table" not in row or cell(row) == row["statement"],
    }
    return [name for name, fine in fits.items() if not fine]


def cell(row: judging.Row) -> str:
    """Return the cell where the row and the column of a labelled one meet."""
    head, _, *lines = (
        [cell.split("[^")[0].strip() for cell in line.strip("|").split("|")]
        for line in row["tables"][row["table"]].splitlines()
    )
    (line,) = (line for line in lines if line[0] == row["row_label"])
    return line[head.index(row["column_head"])]


def test_a_label_fits_its_statement_its_sources_and_its_table() -> None:
    assert {row["id"]: found for row in judging.load() if (found := faults(row))} == {}


def test_a_label_that_fits_nothing_is_found() -> None:
    row = next(row for row in judging.load() if row["label"] == "partly")
    spoilt = {**row, "span": "never said", "passage": "never written", "cites": ["w9-9"]}
    assert faults(spoilt) == ["ids", "span", "passage"]


def test_what_a_judge_may_see_has_no_label() -> None:
    shown = judging.unlabelled(judging.load()[0])
    assert {"question", "sources", "statement", "cites"} <= {*shown}
    assert not {"label", "kind", "span", "passage", "bears", "formula"} & {*shown}


def test_the_judge_is_asked_of_every_statement_and_its_replies_are_proved(tmp_path: Path) -> None:
    rows = judging.load()
    calls = list(played.calls(rows))
    assert {call.ids[one.name] for call in calls for one in call.batch} == {r["id"] for r in rows}
    first = calls[0]
    one = first.batch[0]
    ruling = {"id": one.name, "v": "n", "bad": [one.plain]}
    (tmp_path / f"{first.topic}-1.json").write_text(json.dumps({"rulings": [ruling]}), "utf-8")
    found = played.outcomes(rows, played.replies_in(tmp_path))
    assert found[first.ids[one.name]]["verdict"] == "not_there"


def test_without_a_judge_no_true_statement_is_accused() -> None:
    rows = judging.load()
    told = judging.score(rows, played.outcomes(rows, lambda call: {}))
    assert (told.marked - told.caught, told.caught) == (0, 2)


def test_of_a_judge_who_says_what_the_labels_say_code_takes_nearly_all() -> None:
    rows = judging.load()
    told = judging.score(rows, played.outcomes(rows, played.as_labelled(rows)))
    assert (told.marked - told.caught, told.unchecked) <= (0, 5)
    assert told.caught >= 132
    assert told.spans[0] == told.caught
    assert told.cited[0] == told.cited[1]


def test_marks_are_counted_by_labels_and_the_rest_is_unchecked() -> None:
    rows = [
        statement(1, "supported"),
        statement(2, "own"),
        statement(3, "partly"),
        statement(4, "contradicted"),
        statement(5, "not_there"),
    ]
    got = scored(rows, ruling(1, "s"), ruling(2, "n"), ruling(3, "contradicted"), ruling(4, "x"))
    assert (got.true, got.false, got.marked, got.caught) == (2, 3, 3, 2)
    assert (got.same, got.unchecked) == (2, 1)
    assert "caught 2/3 (66.7%)  marks right 2/3 (66.7%)  false marks 1/2 (50.0%)" in got.line()


@pytest.mark.parametrize(
    ("span", "right"),
    [("daily", True), ("open daily", True), ("nine", False), ("every day", False), ("", False)],
)
def test_a_span_is_right_where_it_lies_over_the_labelled_words(span: str, right: bool) -> None:
    got = scored([statement(1, "partly", span="daily")], ruling(1, "p", span=span))
    assert got.spans == (int(right), 1)


def test_sources_and_passages_are_scored_only_where_a_ruling_has_them() -> None:
    rows = [
        statement(number, "supported", bears=["w1"], passage="until 21:00") for number in (1, 2, 3)
    ]
    got = scored(
        rows,
        ruling(1, "s", sources=["w1", "w2"], shown=["Open until 21:00."]),
        ruling(2, "s", sources=["w2"], shown=["Closed."]),
        ruling(3, "s"),
    )
    assert (got.cited, got.shown) == ((1, 2), (1, 2))


def question(**asked: Any) -> dict[str, Any]:
    nothing = {"language": "en", "demands": {}, "day": None, "needs": "", "queries": []}
    flags = {"needs_search": True, "only_own_documents": False}
    return {"id": 1, "language": "en", "text": "?", "asked": {**nothing, **flags, **asked}}


def counts(label: dict[str, Any], answer: dict[str, Any]) -> dict[str, dict[str, int]]:
    return {name: dict(each.counts) for name, each in reading.tallied([(label, answer)]).items()}


def test_a_demand_is_right_wrong_or_missed_and_a_wrong_bound_is_both() -> None:
    label = question(demands={"max_cost": 80, "open_on": [6, 7], "free": True, "kind": "cafe"})
    answer = {"constraints": {"max_cost": 90, "open_on": [7, 6], "kind": "cafe", "people": 2}}
    assert counts(label, answer) == {
        "demand max_cost": {"wrong": 1, "missed": 1},
        "demand open_on": {"right": 1},
        "demand free": {"missed": 1},
        "demand kind": {"right": 1},
        "demand people": {"wrong": 1},
    }


def test_a_demand_that_may_be_read_counts_neither_way() -> None:
    label = question(demands={}, may=["open_on"])
    assert counts(label, {"demands": {"open_on": [1]}}) == {}
    assert counts(label, {"demands": {"free": True}}) == {"demand free": {"wrong": 1}}


def test_a_field_that_a_reading_has_not_got_is_not_scored() -> None:
    assert counts(question(needs="place"), {"language": "en-GB"}) == {"language": {"right": 1}}
    assert counts(question(needs="place"), {"needs": ""}) == {"needs": {"missed": 1}}
    assert counts(question(), {"needs": "origin"}) == {"needs": {"wrong": 1}}


def test_thanks_are_right_where_nothing_is_searched() -> None:
    assert counts(question(needs_search=False), {"needs_search": False}) == {
        "no search": {"right": 1}
    }
    assert counts(question(needs_search=True), {"needs_search": False}) == {
        "no search": {"wrong": 1}
    }


def test_traditional_chinese_is_a_language_of_its_own() -> None:
    label = question(language="zh-Hant")
    assert counts(label, {"language": "zh-TW"}) == {"language": {"right": 1}}
    assert counts(label, {"language": "zh"}) == {"language": {"wrong": 1, "missed": 1}}


def test_a_question_that_stands_alone_keeps_the_words_it_must_have() -> None:
    label = {**question(), "keeps": ["Green Desk"]}
    assert counts(label, {"question": "Is green desk open?"}) == {"stands alone": {"right": 1}}
    assert counts(label, {"question": "Is it open?"}) == {"stands alone": {"missed": 1}}


def test_map_tasks_are_compared_with_the_one_most_like_them() -> None:
    wanted = [
        {"intent": "nearby", "place": "春熙路", "keywords": ["书店"]},
        {"intent": ["area", "nearby"], "place": ["太古里", None], "keywords": ["书店"]},
    ]
    got = [{"intent": "nearby", "place": "成都太古里", "keywords": ["书店"]}]
    answer = {"query": [{"query": "书店", "map": got[0]}, {"query": "书店", "map": None}]}
    assert reading.paired(wanted, got) == [(wanted[0], {}), (wanted[1], got[0])]
    assert counts(question(queries=wanted), answer) == {
        "map": {"right": 1},
        "map intent": {"missed": 1, "right": 1},
        "map place": {"missed": 1, "right": 1},
        "map keywords": {"missed": 1, "right": 1},
    }


def test_a_task_too_many_is_wrong() -> None:
    tasks = [{"intent": "poi", "place": "故宫"}, {"intent": "weather", "city": "北京"}]
    got = counts(question(queries=tasks[:1]), {"queries": tasks})
    assert got["map intent"] == {"right": 1, "wrong": 1}
    assert counts(question(), {"queries": tasks[:1]})["map"] == {"wrong": 1}


def test_a_question_that_lacks_its_place_may_have_no_task() -> None:
    label = question(needs="place", queries=[{"intent": "nearby", "place": None}])
    assert counts(label, {"queries": []}) == {}
    assert counts(label, {"queries": [{"intent": "nearby", "place": "外滩"}]})["map place"] == {
        "wrong": 1
    }


def test_a_field_of_a_task_may_be_left_out_where_the_label_says_so() -> None:
    label = question(queries=[{"intent": "poi", "city": ["上海", None]}])
    assert counts(label, {"queries": [{"intent": "poi"}]})["map intent"] == {"right": 1}
    assert "map city" not in counts(label, {"queries": [{"intent": "poi"}]})
    wrong = counts(label, {"queries": [{"intent": "poi", "city": "北京"}]})
    assert wrong["map city"] == {"wrong": 1}


def test_the_rules_read_every_question() -> None:
    pairs = [(row, reading.read_by_rules(row)) for row in reading.load()]
    assert reading.tallied(pairs)["map"].counts["right"] > 0


def demand(number: int, verdict: str, cost: float | None, **more: Any) -> dict[str, Any]:
    place = {"name": "Manner", "category": "咖啡厅", "cost": cost}
    row = {"id": number, "language": "zh", "about": "max_cost", "demands": {"max_cost": 100}}
    return {**row, "place": place, "verdict": verdict, "why": "", **more}


def test_verdicts_on_demands_are_counted_by_kind_and_wrong_ones_listed() -> None:
    rows = [
        demand(1, "met", 88.0),
        demand(2, "not_met", 88.0),
        demand(3, "met", None, may=["unknown"]),
    ]
    assert list(demanding.report(rows)) == [
        "max_cost        2/3 (66.7%)",
        "all             2/3 (66.7%)",
        "  not_met as met: 1",
    ]
    (missed,) = demanding.misses(rows)
    assert missed.startswith('  2 not_met as met: {"max_cost": 100} {"name": "Manner"')


def test_a_labelled_demand_is_one_of_those_a_question_can_make() -> None:
    keys = {*Constraints.__annotations__}
    for row in demanding.load():
        assert {*row["demands"]} <= keys
        assert row["about"] in row["demands"] or row["about"] in row["demands"]["suits"]
        assert {row["verdict"], *row.get("may", ())} <= {*demanding.VERDICTS.values()}
        assert {*row["place"]} <= {*Place.__annotations__}
