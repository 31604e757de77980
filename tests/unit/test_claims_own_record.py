"""What the record of a place says: held against, written, and shown to a judge."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from agent.assistants.common.judge import Judge, evidence_of
from agent.evidence.claims.corrected import corrected
from agent.evidence.claims.judging import Ruling, passages_block, shown, statements_block
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.proof import proved
from agent.evidence.claims.statements import statements
from agent.evidence.notation import MARKED
from agent.evidence.types import Place, Source
from tests.support.rows import by_examples
from tests.unit.export_samples import place as sample_place


def place(**fields: Any) -> Place:
    row = {"id": "amap:1", "name": "甲", "source": "a0-0", "cost": 40.0, "rating": 4.5,
           "distance_m": 306, "open_time": "08:00-22:00"}  # fmt: skip
    return cast(Place, {**row, **fields})


def test_a_sentence_about_several_places_is_judged_by_the_records_of_all() -> None:
    """The two museums were free by their records, which the judge was not shown."""
    pages = {f"w{n}-0": Record([f"第{n}页说公园很大，门票另收。" * 20]) for n in range(9)}
    places = {
        f"a0-{n}": Record([f"{name} | 博物馆 | 免费 | 距您{n} m"], place(id=name, name=name))
        for n, name in enumerate(("妇儿馆", "老舍馆", "铁道馆"))
    }
    known = Evidence(pages | places)

    def names(text: str) -> set[str]:
        return {p.source for p in shown(statements(text, MARKED), known)}

    assert {*places} <= names("想省钱，两个博物馆都免费。")
    assert {*places} <= names("两个博物馆都免费[^a0-0][^a0-1]。")
    assert not {*places} <= names("第3页说公园很大[^w3-0]。")
    assert not {*places} <= names("- 第3页说公园很大。")
    # An earlier answer's places are asked about by their names, where others were found.
    before = {"p0-0": Record(["西贝 | 中餐厅"], place(id="p0-0", name="西贝"))}
    known = Evidence(pages | places | before)
    assert {*places} <= names("两个博物馆都免费。")
    assert "p0-0" not in names("两个博物馆都免费。")
    assert "p0-0" in names("两个博物馆和西贝都近。")
    known = Evidence(pages | before)
    assert "p0-0" in names("都不远。")


def test_own_documents_that_are_short_as_a_whole_are_all_shown_to_the_judge() -> None:
    pages = {f"w{n}-0": Record([f"Page {n} tells of pumps. " * 90]) for n in range(9)}
    [one] = statements("Two units stand on the slab [^o0-0].", MARKED)
    for words, is_whole in (("重量七百八十公斤。", True), ("重量七百八十公斤。\n" * 400, False)):
        own = {"o0-0": Record(["The slab."], is_own=True), "o1-0": Record([words], is_own=True)}
        names = {passage.source for passage in shown([one], Evidence(pages | own))}
        assert ("o1-0" in names) is is_whole


@by_examples
def test_a_weekday_is_held_against_the_calendar(
    text: str, v: str, bad: list[str], shown: str
) -> None:
    known = Evidence({"w0-0": Record(["Offers hold until 2027-01-11."])})
    [one] = statements(text, MARKED)
    [outcome] = proved([one], {0: Ruling(v=v, p=["1.1"], bad=bad)}, known)
    parts = corrected(text, [one], [outcome], MARKED)
    assert "".join(part.text for part in parts) == shown


async def test_a_judge_knows_the_hour_as_the_writer_does() -> None:
    prompts = list[str]()

    async def ask(model: str, prompt: Any, **_: Any) -> Any:
        prompts.append(str(prompt))
        return SimpleNamespace(parsed=None)

    judge = Judge(cast(Any, SimpleNamespace(ask=ask)), "m", cast(Any, None), MARKED)
    turn = {"question": "q", "today": "2026-11-29", "now": "2026-11-29 Sun 11:06 (UTC+8)",
            "language": "en"}  # fmt: skip
    own = Source(
        id="w0-0",
        kind="page",
        title="甲",
        url="https://e.example",
        provider="x",
        quotes=["甲在此。"],
    )
    evidence = evidence_of(cast(Any, {"turn": turn}), {"w0-0": own}, {}, [])
    await judge(statements("甲在此[^w0-0]。", MARKED), evidence)
    assert "11:06" in prompts[0]


def test_a_statement_that_names_places_is_judged_by_their_records_whatever_it_cites() -> None:
    """ "Else the Reserve store, open for half an hour more" cited nothing, or another's record."""
    pages = {f"w{n}-0": Record([f"第{n}页说公园很大，门票另收。" * 20]) for n in range(9)}
    places = {
        f"a0-{n}": Record([f"{name} | 咖啡厅 | 07:30-22:{n}0"], place(id=name, name=name))
        for n, name in enumerate(("星巴克臻选(太古里店)", "% Arabica(太古里店)", "角楼咖啡"))
    }
    known = Evidence(pages | places)

    def names(text: str) -> set[str]:
        [*_, one] = statements(text, MARKED)
        return {p.source for p in shown([one], known)}

    assert {"a0-0"} == names("- 若坚持四点五分，就去星巴克臻选，十点后还有半小时。") & {*places}
    assert {"a0-1", "a0-2"} <= names("角楼咖啡比 % Arabica 早关半小时[^a0-1]。")
    assert "a0-2" in names("先到角楼咖啡[^a0-2]坐坐。\n它比别家早关半小时。")
    assert not {*places} & names("第3页说公园很大[^w3-0]。")


def test_a_place_that_was_found_twice_is_shown_to_a_judge_once_under_either_id() -> None:
    first, again = (
        sample_place(id="osm:1", name="Ekberg", source=f"a{n}-0", sources=[f"a{n}-0"],
                     distance_from=centre, distance_m=metres)
        for n, centre, metres in ((0, "Bulevardi", 120), (1, "Rautatientori", 900))
    )  # fmt: skip
    other = sample_place(id="osm:2", name="Netcup", source="a1-1", sources=["a1-1"])
    sources = {
        id: Source(id=id, kind="place", title=id, url="u", provider="osm", quotes=[])
        for id in ("a0-0", "a1-0", "a1-1")
    }
    turn = {"question": "q", "today": "2026-11-29", "language": "en", "zone": "Asia/Shanghai"}
    state = cast(Any, {"turn": turn, "places": [first, again, other]})
    known = evidence_of(state, sources, {}, [])
    [line, _] = [passage.text for passage in known.passages]
    assert "120 m" in line
    assert "900 m" in line
    for id in ("a0-0", "a1-0"):
        [one] = statements(f"Ekberg is close to the station [^{id}].", MARKED)
        one = replace(one, exact=(id,))
        assert known.telling(one, 220)[0][0].name == "1.1"
        assert statements_block([one], known, MARKED).endswith("[1].")
        assert known.only_place(["a0-0", "a1-0"]) == known.records["a0-0"].place


def test_a_judge_reads_the_title_of_a_page_once_also_where_two_searches_found_it() -> None:
    title = "故宫博物院 2026-03-01"
    rows = ("门票六十元。", "周一闭馆。", "")
    evidence = Evidence(
        {f"w{n}-0": Record([f"{title}\n{row}"], page="gugong") for n, row in enumerate(rows)}
        | {"w9-0": Record([f"{title}\n{rows[0]}"])}
    )
    [statement] = statements("门票六十元。", MARKED)
    assert passages_block([statement] * 9, evidence).splitlines() == [
        f"1.1 {title} 门票六十元。", "1.2 周一闭馆。", f"2.1 {title} 门票六十元。",
    ]  # fmt: skip


def test_a_judge_reads_the_words_of_a_page_once_whichever_of_its_searches_is_cited() -> None:
    """Two searches found it: a third of what the judge was shown stood there twice."""
    fee = "On 60 days of 2026 a fee is due. Who pays late pays 10 euro."
    table = "| Age | Fee |\n|---|---|\n| 14 | 5 euro |"
    page = Source(id="w0-0", kind="page", title="Fee", url="https://fee.example", provider="p",
                  quotes=[f"{fee}\n{table}"], published="2026-03-02")  # fmt: skip
    again = Source(**{**page, "id": "w1-0", "quotes": [f"{fee} Children are free.\n{table}"]})
    turn = {"question": "q", "today": "2026-11-29", "language": "en", "zone": "Europe/Rome"}
    state = cast(Any, {"turn": turn})
    known = evidence_of(state, {"w0-0": page, "w1-0": again}, {}, [])
    told = "\n".join(passage.text for passage in known.passages)
    assert [told.count(part) for part in ("Fee 2026-03-02", "60 days", "10 euro", "free")] == [
        1
    ] * 4
    [one] = statements("Late is 10 euro [^w1-0].", MARKED)
    best = known.telling(replace(one, exact=("w1-0",)), 220)[0]
    assert any("10 euro" in passage.text for passage in best)


def test_the_hour_that_a_search_demanded_is_known_to_whoever_proves_a_sentence() -> None:
    """ "周六 12:00 均营业" was true and "not checked": at noon is how it was asked."""
    kitchen = sample_place(source="a0-0", sources=["a0-0"], demands={"open_at": "12:00"})
    turn = {"question": "中午吃什么", "today": "2026-11-29", "language": "zh", "started_at": 0}
    source = Source(id="a0-0", kind="place", title="甲", url="", provider="amap", quotes=[])
    evidence = evidence_of(cast(Any, {"turn": turn, "places": [kitchen]}), {"a0-0": source}, {}, [])
    said = statements("午饭（周六 12:00 均营业）[^a0-0]。", MARKED)
    [outcome] = proved(said, {0: Ruling(n=1, v="s", p=["1.1"])}, evidence)
    assert outcome.verdict == "supported"
