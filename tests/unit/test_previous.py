"""What a turn leaves to the next one on its thread, and what that one makes of it."""

import json
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from agent.assistants.common.material import with_ids_of
from agent.assistants.common.previous import (
    NO_PREVIOUS,
    Knowledge,
    carried,
    listed_last,
    opened_previous,
    previous_of,
    shown_lines,
    turns_of,
)
from agent.assistants.common.previous_lines import previous_lines
from agent.core.strings import estimated_tokens
from agent.evidence.claims.corrected import with_quotes
from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.passages import Evidence, Passage, Record
from agent.evidence.types import Place, Source
from agent.state import OverallState, Previous, Turn
from tests.unit.test_constraints import record

TURN = Turn(
    id="t", question="问", language="zh", today="2026-11-22", started_at=0.0, count=1, loops=1,
    reasoning_model=None, near={"lng": 120.1, "lat": 30.2},
)  # fmt: skip


def source(name: str, url: str, **more: Any) -> Source:
    row = {"id": name, "kind": "page", "title": "t", "url": url, "provider": "p", "quotes": []}
    return Source(**{**row, **more})  # type: ignore[typeddict-item]


def told(text: str, places: list[Place]) -> OverallState:
    answer = AIMessage(
        text, id="m1", additional_kwargs={"sources": [*map(stands_for, places)], "places": places}
    )
    return OverallState(messages=[HumanMessage("问"), answer, HumanMessage("再问")])


def thread(previous: Previous | None = None, *, answer: str = "m1", **kwargs: Any) -> OverallState:
    told = AIMessage("…", id=answer, additional_kwargs=kwargs)
    state = OverallState(messages=[HumanMessage("问"), told, HumanMessage("再问")])
    if previous is not None:
        state["previous"] = previous
    return state


def left(
    knowledge: Knowledge, *, limit: int = 30_000, turn: Turn = TURN, answer: str = "m1"
) -> Previous:
    return carried(knowledge, turn, answer=answer, limit=limit)


PAGES = [source(f"w0-{n}", f"https://{n}.example/", quotes=[f"第{n}句。"]) for n in range(3)]
PAGES[1]["quotes"] = ["甲是 12 米。"]


def test_what_the_answer_did_not_cite_can_be_cited_by_the_next_one() -> None:
    note = "甲是 12 米[^w0-1]。乙没有查到[^w9-9]。"
    previous = left(Knowledge([PAGES[2]], PAGES, [], [note]))
    ids = {s["url"]: s["id"] for s in previous["sources"]}
    assert set(ids) == {page["url"] for page in PAGES}
    assert all(name.startswith("p0-") for name in ids.values())
    assert previous["notes"] == [f"甲是 12 米[^{ids['https://1.example/']}]。乙没有查到。"]
    shown = previous_lines(previous, 1000)
    assert shown.count("甲是 12 米") == 1, "its note says it"
    assert "第0句。" in shown


def test_the_next_turn_finds_it_by_the_answer_that_closed_the_turn() -> None:
    previous = left(Knowledge([], PAGES, [], []))
    assert previous_of(thread(previous)) == previous
    cited = source("w7-0", "https://cited")
    edited = previous_of(thread(previous, answer="other", sources=[cited], places=[]))
    assert [s["url"] for s in edited["sources"]] == ["https://cited"]
    assert edited.get("near") == TURN["near"], "where the user is does not hang on the answer"
    foreign = previous_of(thread(sources=[{"id": 3}]))
    assert foreign == Previous(sources=[], places=[])


def test_notes_and_what_nobody_cited_live_on_for_one_turn() -> None:
    first = left(Knowledge(PAGES, PAGES, [], ["旧的笔记[^w0-0]"]))
    kept = [s for s in first["sources"] if s["url"] == "https://0.example/"]
    second = left(Knowledge(kept, [source("w0-0", "https://new", quotes=["新。"])], [], []))
    assert [s["url"] for s in second["sources"]] == ["https://0.example/", "https://new"]
    assert second["notes"] == []


@pytest.mark.parametrize("limit", [0, 2000, 30_000])
def test_it_never_takes_more_bytes_than_the_setting_says(limit: int) -> None:
    pages = [source(f"w0-{n}", f"https://{n}.example/", quotes=["资料" * 900]) for n in range(60)]
    places = [record(f"店{n}", source=f"a0-{n}") for n in range(30)]
    shops = [source(p["source"], f"https://amap/{p['name']}", kind="place") for p in places]
    notes = [f"## 题{n}\n" + f"一行笔记[^w0-{n}]\n" * 400 for n in range(6)]
    previous = left(Knowledge(pages[:3], [*pages, *shops], places, notes), limit=limit)
    size = len(json.dumps(previous, ensure_ascii=False).encode())
    assert size <= max(limit, 700)
    if limit == 30_000:
        assert size > 20_000
        assert (len(previous["notes"]), len(previous["places"])) == (6, 12)
        assert [s["url"] for s in previous["sources"][:3]] == [p["url"] for p in pages[:3]]


def test_a_passage_is_kept_in_its_own_words_and_a_whole_page_by_its_quotes() -> None:
    passage = source("d0-0", "", kind="document", quotes=["开头。"])
    page = source("t0-0", "https://long", quotes=["原句。"])
    texts = {"d0-0": "开头。" + "正文。" * 20, "t0-0": "页" * 50_000}
    previous = left(Knowledge([passage, page], [], [], [], texts))
    first, second = (source["quotes"] for source in previous["sources"])
    assert (first, second[0]) == ([texts["d0-0"]], "原句。")


def test_places_that_the_answer_only_names_are_known_in_the_next_turn() -> None:
    first: Place = record("甲", source="a0-0", url="https://amap/1")
    second = record("乙", source="a0-1", url="https://amap/2")
    gathered = [source("a0-0", first["url"]), source("a0-1", second["url"])]
    previous = left(Knowledge([gathered[1]], gathered, [first, second], []))
    assert [p["name"] for p in previous["places"]] == [first["name"], second["name"]]
    ids = {row["url"]: row["id"] for row in previous["sources"]}
    assert [p["source"] for p in previous["places"]] == [ids[first["url"]], ids[second["url"]]]


def test_where_the_user_is_and_what_was_demanded_live_on_from_the_beginning_of_a_turn() -> None:
    demanding = Turn(**{**TURN, "constraints": {"max_cost": 100}})
    previous = left(Knowledge([], [], [], []), turn=demanding)
    assert previous["constraints"] == {"max_cost": 100}
    moved = Turn(**{**TURN, "near": {"lng": 1.0, "lat": 2.0}})
    again = opened_previous(previous, moved)
    assert again["near"] == moved["near"]
    assert again["constraints"] == {"max_cost": 100}


def shop(name: str, number: int) -> Place:
    return record(
        name, rating=4.5, id=f"amap:{name}", source=f"a0-{number}", number=number, mentioned=True
    )


def stands_for(place: Place) -> Source:
    return source(place["source"], f"https://amap/{place['name']}", kind="place")


def turn_of(places: list[Place], pages: list[Source], earlier: Previous | None) -> Previous:
    cited = [*pages, *map(stands_for, places)]
    knowledge = Knowledge(cited, cited, places, [])
    return left(replace(knowledge, earlier=earlier) if earlier else knowledge)


def test_three_turns_of_places_and_sources_are_known_with_their_numbers() -> None:
    previous: Previous | None = None
    for turn in range(5):
        names = [f"店{turn}{letter}" for letter in "ab"]
        places = [shop(name, number) for number, name in enumerate(names, 2)]
        previous = turn_of(places, [source("w0-0", f"https://{turn}.example")], previous)
    assert previous
    lists = [[(p["name"], p["number"]) for p in turn["places"]] for turn in turns_of(previous)]
    assert lists == [[(f"店{n}a", 2), (f"店{n}b", 3)] for n in (4, 3, 2)]
    assert [p["name"] for p in previous["places"]] == [f"店{n}{x}" for n in (4, 3, 2) for x in "ab"]
    ids = {s["id"]: s["url"] for s in previous["sources"]}
    cited = [[ids[name] for name in turn["cited"]] for turn in turns_of(previous)]
    assert [urls[0] for urls in cited] == [f"https://{n}.example" for n in (4, 3, 2)]
    assert len(ids) == 9, "a page and two places of each turn"
    shown = shown_lines(previous, {}, "zh", 2000)
    assert shown.count("| no. 1\n") == 3 == f"{shown}\n".count("| no. 2\n")
    assert shown.index("店4b") < shown.index("店3a") < shown.index("店2b")
    assert [p["name"] for p in listed_last(previous)] == ["店4a", "店4b"]


@pytest.mark.parametrize("sign", ["{}. **", "{}、", "**{}. "])
def test_a_place_has_the_number_that_the_answers_own_list_gives_it(sign: str) -> None:
    """ "The third one" was a place that stood below the list: the third item was no place."""
    items = [
        f"{sign.format(n)}{text}" for n, text in enumerate(["甲店：近", "小摊", "乙店：贵"], 1)
    ]
    answer = "\n".join(["最近的是丙店。", "", *items])
    places = [shop(name, number) for number, name in enumerate(["丙店", "甲店", "乙店"], 1)]
    previous = previous_of(told(answer, places))
    shown = [
        line.rsplit(" | ", 1)[-1] for line in shown_lines(previous, {}, "zh", 2000).splitlines()
    ]
    assert shown[-3:] == ["no. 1", "no. 3", "map pin 1"]


def test_a_list_of_before_tells_how_far_its_numbers_go_so_that_the_last_two_are_known() -> None:
    shown = shown_lines(turn_of([shop(f"店{n}", n) for n in (4, 5, 6)], [], None), {}, "zh", 2000)
    assert shown.splitlines()[0].endswith(" (no. 1–3):")
    one = shown_lines(turn_of([shop("店", 4)], [], None), {}, "zh", 2000)
    assert "no. 1–" not in one


def test_of_two_lists_the_number_of_a_place_stands_with_what_its_list_is_of() -> None:
    """Two places were "no. 1", of what to see and of lunch."""
    answer = "**玩**：\n1. 甲店：近\n   只在上午\n2. 乙店：远\n\n**午饭**\n\n1. 丙店：贵\n2. 小摊"
    places = [shop(name, number) for number, name in enumerate(["甲店", "乙店", "丙店"], 1)]
    shown = shown_lines(previous_of(told(answer, places)), {}, "zh", 2000).splitlines()
    numbers = [line.rsplit(" | ", 1)[-1] for line in shown]
    assert numbers[-3:] == ["no. 1 (玩)", "no. 2 (玩)", "no. 1 (午饭)"]


def test_a_place_that_the_answer_did_not_name_has_its_pin_and_no_place_in_its_list() -> None:
    unnamed = Place(**{**shop("丙店", 9), "mentioned": False})
    previous = turn_of([shop("甲店", 1), unnamed], [], None)
    shown = shown_lines(previous, {}, "zh", 2000).splitlines()
    assert [line.rsplit(" | ", 1)[-1] for line in shown[-2:]] == ["no. 1", "map pin 9"]


def test_the_last_one_is_the_last_that_the_answer_named_however_many_stood_on_its_map() -> None:
    """Of 21 places six were named; the last one was no. 21, of whom no more than a name is kept."""
    others = [Place(**{**shop(f"店{n}", n), "mentioned": False}) for n in range(7, 22)]
    named = [shop(f"店{n}", n) for n in range(1, 7)]
    shown = shown_lines(turn_of([*named, *others], [], None), {}, "zh", 4000).splitlines()
    assert shown[0].endswith(" (no. 1–6):")
    assert [line.rsplit(" | ", 1)[-1] for line in shown[6:8]] == ["no. 6", "map pin 7"]
    assert shown[-1].endswith("map pin 21")


def test_a_place_that_a_planned_day_only_mentions_is_none_of_its_stops() -> None:
    """The museum to go on to was "no. 4" of a day of three."""
    places = [shop("甲店", 1), shop("乙店", 2), shop("丙店", 3)]
    stops = [{"place": "amap:乙店"}, {"meal": "lunch"}, {"place": "amap:甲店"}]
    stops = [{"name": "", "begins": "13:00", "ends": "14:00", **stop} for stop in stops]
    answer = told("先乙店，再甲店，之后可去丙店。", places)
    answer["messages"][1].additional_kwargs["outing"] = {
        "day": "2026-11-29", "begins": "13:00", "stops": stops, "left_out": [],
        "wish": {}, "ends": "15:00", "url": "",
    }  # fmt: skip
    lines = shown_lines(previous_of(answer), {}, "zh", 2000).splitlines()[-3:]
    numbers = {line.split("] ")[1][:2]: line.rsplit(" | ", 1)[-1] for line in lines}
    assert numbers == {"乙店": "no. 1", "甲店": "no. 2", "丙店": "map pin 3"}


def test_a_turn_that_shows_nothing_ages_no_other() -> None:
    first = turn_of([shop("甲", 1)], [], None)
    second = left(replace(Knowledge([], [], [], []), earlier=first))
    assert turns_of(second) == turns_of(first)
    assert second["places"] == first["places"]


def test_a_place_that_two_answers_listed_has_its_facts_once_and_both_its_numbers() -> None:
    first = turn_of([shop("甲", 1), shop("乙", 2)], [], None)
    second = turn_of([shop("乙", 7)], [], first)
    shown = shown_lines(second, {}, "zh", 2000).splitlines()
    assert [line.rsplit(" | ", 1)[-1] for line in shown if "乙" in line] == [
        "no. 1",
        "no. 2",
    ]
    facts = [line.count(" | ") for line in shown if "乙" in line]
    assert facts[0] > 1 == facts[1]
    again = shown_lines(second, {"amap:乙": "a5-5"}, "zh", 2000)
    assert again.count("[^a5-5] 乙 | no.") == 2, "found again, it stands with the places of now"


def test_where_room_is_short_an_earlier_place_keeps_its_name_and_number() -> None:
    places = [shop(f"店{number}", number) for number in range(1, 9)]
    first = turn_of(places, [], None)
    pages = [source(f"w0-{n}", f"https://{n}.example", quotes=["资料。" * 300]) for n in range(6)]
    knowledge = replace(Knowledge(pages, pages, [], []), earlier=first)
    second = left(knowledge, limit=9000)
    assert len(json.dumps(second, ensure_ascii=False).encode()) <= 9000
    assert len(second["places"]) < 8
    assert shown_lines(second, {}, "zh", 2000).splitlines()[-1].endswith("店8 | no. 8")


def test_lists_are_shown_within_their_room_the_newest_whole() -> None:
    first = turn_of([shop(f"老店{n}", n) for n in range(1, 12)], [], None)
    second = turn_of([shop(f"新店{n}", n) for n in range(1, 12)], [], first)
    shown = shown_lines(second, {}, "zh", 400)
    assert estimated_tokens(shown) <= 400
    assert "新店11" in shown
    assert "老店11" not in shown


def test_the_query_s_model_is_told_only_the_names_of_what_older_answers_showed() -> None:
    page = source("w0-0", "https://1.example", title="旧页", quotes=["旧的说法。"])
    first = turn_of([shop("甲", 1)], [page], None)
    new = source("w0-0", "https://2.example", title="新页", quotes=["新的说法。"])
    second = turn_of([shop("乙", 1)], [new], first)
    lists = shown_lines(second, {}, "zh", 2000, brief=True)
    assert [line.count(" | ") > 1 for line in lists.splitlines() if "no." in line] == [True, False]
    unnamed = Place(**{**shop("丙", 2), "mentioned": False})
    third = turn_of([shop("丁", 1)], [], turn_of([shop("甲", 1), unnamed], [page], None))
    assert "丙" in shown_lines(third, {}, "zh", 2000)
    assert "丙" not in shown_lines(third, {}, "zh", 2000, brief=True)
    pages = previous_lines(second, 2000, brief=True)
    assert "新的说法" in pages
    assert "旧页" in pages
    assert "旧的说法" not in pages
    assert "旧的说法" in previous_lines(second, 2000)


def test_a_thread_of_before_has_one_turn() -> None:
    place = shop("甲", 1)
    old = Previous(sources=[stands_for(place)], places=[place], answer="m1")
    assert [each["name"] for each in turns_of(old)[0]["places"]] == ["甲"]
    assert listed_last(previous_of(thread(old))) == [place]
    after = turn_of([shop("乙", 1)], [], old)
    assert [[p["name"] for p in turn["places"]] for turn in turns_of(after)] == [["乙"], ["甲"]]


def test_a_client_that_sends_the_messages_itself_has_three_turns_too() -> None:
    def answer(*names: str) -> AIMessage:
        pages = [source(f"w0-{n}", f"https://{name}") for n, name in enumerate(names)]
        place = shop(f"店{names[0]}", 1)
        shown = {"sources": [*pages, stands_for(place)], "places": [place]}
        return AIMessage("…", additional_kwargs=shown)

    messages = [
        HumanMessage("零"), answer("z"),
        HumanMessage("甲"), answer("a", "b"),
        HumanMessage("乙"), answer("c", "b"),
        HumanMessage("丙"), AIMessage("…", additional_kwargs={"sources": [{"id": 3}]}),
        HumanMessage("丁"), answer("d"),
        HumanMessage("戊"),
    ]  # fmt: skip
    previous = previous_of(OverallState(messages=messages))
    assert [turn["question"] for turn in turns_of(previous)] == ["丁", "乙"]
    urls = sorted(s["url"] for s in previous["sources"] if s["kind"] == "page")
    assert urls == ["https://b", "https://c", "https://d"]
    assert len({s["id"] for s in previous["sources"]}) == len(previous["sources"])
    assert [p["name"] for p in previous["places"]] == ["店d", "店c"]


def test_one_page_has_one_id_and_the_words_of_all_its_ids() -> None:
    twice = [
        source("w0-0", "https://page", quotes=["甲。"]),
        source("w1-0", "https://page", quotes=["乙。"]),
        source("w1-1", "https://other", quotes=["丙。"]),
    ]
    previous = left(Knowledge([twice[1]], twice, [], ["甲[^w0-0]乙[^w1-0]丙[^w1-1]"]))
    assert [(s["url"], s["quotes"]) for s in previous["sources"]] == [
        ("https://page", ["甲。", "乙。"]),
        ("https://other", ["丙。"]),
    ]
    assert previous["notes"] == ["甲[^p0-0]乙[^p0-0]丙[^p0-1]"]


def test_one_place_has_one_id_also_where_two_turns_found_it() -> None:
    def knows(id: str, earlier: Previous = NO_PREVIOUS) -> Knowledge:
        found = Place(**{**record("amap:1"), "source": id, "sources": [id]})  # type: ignore[typeddict-item]
        found_as = [source(id, "https://place", kind="place", quotes=["距离 200 m"])]
        return Knowledge(found_as, found_as, [found], [f"甲[^{id}]"], earlier=earlier)

    previous = left(knows("a1-0", left(knows("a0-0"))))
    assert [s["id"] for s in previous["sources"]] == ["p0-0"]
    assert [p["sources"] for p in previous["places"]] == [["p0-0"]]
    assert previous["notes"] == ["甲[^p0-0]"]


def test_passages_of_one_document_are_one_source_as_the_answer_numbers_them() -> None:
    passages = [
        source(f"d0-{n}", "", kind="document", title="合同", quotes=[f"第{n}条。"])
        for n in range(3)
    ]
    other = source("d1-0", "", kind="document", title="食堂", quotes=["周五吃面。"])
    previous = left(Knowledge([passages[2]], [*passages, other], [], ["见[^d0-1]。"]))
    assert [(s["id"], s["quotes"]) for s in previous["sources"]] == [
        ("p0-0", ["第0条。", "第1条。", "第2条。"]),
        ("p0-1", ["周五吃面。"]),
    ]
    assert previous["notes"] == ["见[^p0-0]。"]
    again = with_ids_of([{**s, "id": f"o{s['id']}"} for s in (*passages, other)], previous)  # type: ignore[list-item]
    shown = previous_lines(again, 1000)
    assert "条" not in shown
    assert "[^p0-0] 合同" in shown, "what the answer cites has its file's name"
    assert "食堂" not in shown


def test_a_page_that_is_found_again_is_shown_under_its_new_id_only() -> None:
    previous = left(Knowledge(PAGES[:2], PAGES, [], ["甲是 12 米[^w0-1]。"]))
    again = with_ids_of([source("w5-3", "https://1.example/")], previous)
    shown = previous_lines(again, 1000)
    assert "甲是 12 米[^w5-3]。" in shown
    assert "[^p0-1]" not in shown
    assert "[^p0-0]" in shown


def test_a_passage_of_an_own_file_is_kept_once_and_shown_again_under_its_new_id_only() -> None:
    rows = ["Room log", "Room 2: 12 degrees at noon.", "Room 3: 30 degrees, the lift stood."]
    quote = f"Room log: {rows[1]} {rows[2]}"
    file = source("o0-1", "", kind="document", title="Log", quotes=[quote])
    other = source("o0-0", "", kind="document", title="Log", quotes=["Written by the porter."])
    texts = {"o0-1": "\n".join(["Log", *rows])}
    previous = left(Knowledge([file], [file], [], ["Warm[^o0-1]."], texts))
    kept = "\n".join(previous["sources"][0]["quotes"])
    assert [kept.count(row) for row in rows[1:]] == [1, 1]
    again = with_ids_of([other, {**file, "id": "o7-2"}], previous)  # type: ignore[list-item]
    assert again["notes"] == ["Warm[^o7-2]."]
    assert again["turns"][0]["cited"] == ["o7-2"]
    assert "30 degrees" not in previous_lines(again, 1000)
    new = source("o7-2", "", kind="document", title="Log", quotes=["Room 2 was closed."])
    assert "30 degrees" in previous_lines(with_ids_of([new], previous), 1000)


LIST_OF_PRICES = "\n".join(
    [
        "# Prices",
        *(f"On {letter}: " + "general words on the service. " * 9 for letter in "abcdefghijklmn"),
        "## Pay as you go",
        "| Actions a month | Price a million |",
        "|---|---|",
        *(f"| Step {n} | ${60 - 5 * n} |" for n in range(1, 8)),
        "Last updated in July.",
    ]
)


def test_the_words_around_cited_figures_are_kept_first_wherever_the_page_has_them() -> None:
    page = source("t0-0", "https://prices", title="Prices", quotes=["Last updated in July."])
    citing = {"t0-0": ["Beyond the included million a million costs $50, later $45."]}
    knowledge = Knowledge([page], [page], [], [], {"t0-0": LIST_OF_PRICES}, citing)
    kept = "\n".join(left(knowledge)["sources"][0]["quotes"])
    assert "Actions a month | Price a million |\n|---|---|\n| Step 1 | $55 |" in kept
    assert "| Step 3 | $45 |" in kept
    assert "Last updated in July." in kept
    assert 0 < kept.count("On ") < 6, "the rest takes what room is left"
    # The next check reads the row with the head of its table.
    passages = Evidence({"p0-0": Record([kept])}).passages
    assert any("$50" in p.text and "Price a million" in p.text for p in passages)


def test_no_title_and_no_sentence_is_kept_twice() -> None:
    line = "The plan costs $75 a month for 5 million actions."
    page = source("t0-0", "https://plans", title="Plans of the cloud", quotes=[line])
    texts = {"t0-0": f"Plans of the cloud\n{line}\n# Plans of the cloud\n{line}\nSince August."}
    previous = left(Knowledge([page], [page], [], [], texts))
    kept = "\n".join(previous["sources"][0]["quotes"])
    assert (kept.count(line), kept.count("Plans of the cloud")) == (1, 0)
    assert previous_lines(previous, 1000).count("Plans of the cloud") == 1
    shown = source("t0-0", "https://plans", title="Plans of the cloud")
    for whole in (f"Plans of the cloud {line}", f"Plans of the cloud · {line}"):
        again = Previous(**{**previous, "sources": [Source(**{**shown, "quotes": [whole]})]})
        assert previous_lines(again, 1000).endswith(f" — {line}")


def test_a_sentence_of_a_page_that_a_note_says_between_its_marks_stands_once() -> None:
    first, second = "The plan costs $75 a month.", "It has 5 million actions."
    page = source("t0-0", "https://plans", title="Plans", quotes=[f"{first} {second} New in May."])
    note = f"{first} [^t0-0]{second} [^t0-0]"
    shown = previous_lines(left(Knowledge([page], [page], [], [note])), 1000)
    assert (shown.count("$75"), shown.count("5 million")) == (1, 1)
    assert shown.endswith(" — New in May.")


def test_a_cited_page_is_told_once_however_many_turns_went_by() -> None:
    """Each turn had put its day before its words once more, and kept both."""
    words = "The plan costs $75 a month. It has 5 million actions. New in May."
    page = source("t0-0", "https://plans", title="Plans", published="2026-05-04",
                  quotes=[f"Plans 2026-05-04 {words}", words])  # fmt: skip
    previous = left(Knowledge([page], [page], [], []))
    for _ in range(3):
        told_now = previous_lines(previous, 1000).replace(" / ", " ")
        assert told_now.endswith(f" · 2026-05-04 — {words}")
        [told] = previous["sources"]
        shown = Passage("1.1", told["id"], f"Plans 2026-05-04 {words[:27]}")
        outcome = Outcome(verdict="supported", passages=(shown,))
        [cited] = with_quotes([told], [outcome], {told["id"]: told})
        previous = left(Knowledge([cited], [cited], [], []))


def test_of_a_source_s_quotes_one_that_another_has_in_it_is_no_second_one() -> None:
    short, both = "Open daily.", "Open daily. Closed at New Year."
    page = "Open on Sundays, too. " * 20
    quotes = [both, short, "Open on Sundays, too.", page, "Free."]
    told = source("w0-0", "https://hours", quotes=quotes)
    [cited] = with_quotes([told], [], {told["id"]: told})
    # Of a whole page what was told of it is the shorter quote.
    assert cited["quotes"] == [both, "Open on Sundays, too.", page, "Free."]
    twice = Source(
        **{**told, "quotes": ["同轴度 0.02 毫米。 两班。", "车床 同轴度 0.02 毫米。两班。"]}
    )
    [once] = with_quotes([twice], [], {told["id"]: told})
    assert once["quotes"] == ["车床 同轴度 0.02 毫米。两班。"], (
        "blanks and a title are no other words"
    )


def test_every_cited_page_keeps_its_figures_before_one_keeps_all_it_says() -> None:
    prose = "Words without any figure about what this is and whom it serves. " * 5
    pages = [source(f"t0-{n}", f"https://{n}.example", title=f"P{n}") for n in range(24)]
    texts = {p["id"]: "\n".join([prose] * 9 + [f"It costs ${n}00."]) for n, p in enumerate(pages)}
    previous = left(Knowledge(pages, pages, [], [], texts), limit=16_000)
    kept = ["\n".join(s["quotes"]) for s in previous["sources"]]
    assert [f"${n}00" in text for n, text in enumerate(kept)] == [True] * 24


def test_lines_of_the_last_turn_share_the_room_and_keep_the_rows_of_tables() -> None:
    pages = [source(f"t0-{n}", f"https://{n}.example", title=f"P{n}") for n in range(6)]
    texts = {p["id"]: f"{LIST_OF_PRICES}\nOnly page {n}." for n, p in enumerate(pages)}
    citing = {p["id"]: ["Its last step costs $25."] for p in pages}
    previous = left(Knowledge(pages, pages, [], [], texts, citing))
    shown = previous_lines(previous, 1200)
    assert [f"[^p0-{n}] P{n}" in shown for n in range(6)] == [True] * 6
    assert estimated_tokens(shown) <= 1200
    assert "| Step 1 | $55 |" in previous_lines(previous, 20_000).splitlines()


def test_where_room_is_short_the_lines_nearest_to_the_new_question_stay() -> None:
    page = source("t0-0", "https://licence.example", title="LICENSE")
    prose = [f"Paragraph {n} is about warranties and liability of the authors." for n in range(30)]
    prose.insert(17, "Additional Use Grant: no third parties may be offered it as a platform.")
    previous = left(Knowledge([page], [page], [], [], {"t0-0": "\n".join(prose)}))
    shown = previous_lines(previous, 120, "May we offer it to third parties as a platform?")
    assert "Additional Use Grant" in shown
    assert estimated_tokens(shown) <= 120
    assert "Additional Use Grant" not in previous_lines(previous, 120)


def test_a_page_that_was_not_cited_keeps_some_words_beside_many_that_were() -> None:
    prose = "Words with a figure, $7, about what this is and whom it serves in all its length. " * 4
    pages = [source(f"t0-{n}", f"https://{n}.example", title=f"P{n}") for n in range(20)]
    texts = {p["id"]: "\n".join([prose] * 5) for p in pages} | {"t1-0": "A pause is a new run."}
    other = source("t1-0", "https://billing.example", title="Billing")
    previous = left(Knowledge(pages, [*pages, other], [], [], texts), limit=16_000)
    assert ["A pause is a new run."] in [s["quotes"] for s in previous["sources"]]


def test_a_calculation_that_is_also_its_quote_stands_once() -> None:
    sum_of_it = "2 × 1000 × 30 = 60000 GB a month"
    source = Source(id="p0-2", kind="document", title="sum", url="", provider="code",
                    quotes=[sum_of_it, sum_of_it])  # fmt: skip
    shown = previous_lines(Previous(sources=[source], places=[]), 1000)
    assert shown.count(sum_of_it) == 1


def test_of_what_an_answer_did_not_name_one_of_each_kind_is_kept_first_and_else_no_source() -> None:
    """A park that had lost its record was cited without a card or a pin."""
    shops = [Place(**{**shop(f"面馆{n}", n), "mentioned": n < 3}) for n in range(1, 15)]
    park = Place(**{**shop("公园", 20), "category": "公园", "mentioned": False})
    sources = [*map(stands_for, [*shops, park])]
    previous = left(Knowledge(sources[:2], sources, [*shops, park], []))
    kept = [place["name"] for place in previous["places"]]
    assert kept[:2] == ["面馆1", "面馆2"]
    assert ("公园" in kept, len(kept)) == (True, 12)
    assert len(previous["sources"]) == 12
