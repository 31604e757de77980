"""Values out of sentences and places: only where subject and attribute stand together."""

import pytest

from agent.offline.rules_team_code import program
from agent.offline.rules_team_facts import map_fact, page_facts, shortened
from agent.offline.rules_team_reading import ask_of
from agent.offline.rules_team_seen import Card, Seen, Snippet, Told
from agent.offline.rules_team_steps import candidates, facts_of, queries
from agent.offline.rules_team_values import number_of, plain, with_unit

ZH = Snippet(
    "s0-0",
    "[示例] 几座桥",
    "青石桥全长1453米，由李木生主持设计，1937年9月26日通车。白沙桥全长36公里，建成于2008年。"
    "绿洲馆周一闭馆，门票约两元。环湖一周大约十五公里，步行需要四到五个小时。漂流要求身高不低于一米二二。",
)
EN = Snippet(
    "s1-0",
    "[Sample] Towers",
    "The Stone Tower is 420.5 metres tall and was completed in 1999. The 2.8 km Long Dam was"
    " designed by Anna Berg. The enzyme Fixase fixes nitrogen. The old hall of 1923 has a dome.",
)


def best(question: str) -> str:
    found = page_facts(ask_of(question).needs[0], [ZH, EN])
    return found[0].value if found else ""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("青石桥全长多少米？", "1453"),
        ("青石桥是谁设计的？", "李木生"),
        ("青石桥是哪一天通车的？", "1937-09-26"),
        ("青石桥是哪一年通车的？", "1937"),
        ("白沙桥建成于哪一年？", "2008"),
        ("绿洲馆星期几闭馆？", "周一"),
        ("绿洲馆门票多少元？", "2"),
        ("环湖一周大约多少公里？", "15"),
        ("漂流要求身高不低于多少米？", "1.22"),
        ("How tall is the Stone Tower in metres?", "420.5"),
        ("When was the Stone Tower built?", "1999"),
        ("Who designed the Long Dam?", "Anna Berg"),
        ("How long is the Long Dam in kilometres?", "2.8"),
        ("Which enzyme fixes nitrogen?", "Fixase"),
        ("When was the old hall built?", "1923"),
    ],
)
def test_the_value_beside_subject_and_attribute_is_taken(question: str, answer: str) -> None:
    assert best(question) == answer


@pytest.mark.parametrize(
    "question",
    [
        "白沙桥是谁设计的？",
        "绿洲馆成立于哪一年？",
        "黑石桥全长多少米？",
        "青石桥有多少个桥墩？",
        "Who designed the Stone Tower?",
        "How tall is the Iron Tower?",
        "Which year?",
        "How tall is it?",
        "When was it completed?",
        "谁设计的？",
    ],
)
def test_what_no_sentence_states_is_not_found(question: str) -> None:
    assert best(question) == ""


def test_a_length_in_another_unit_is_converted_by_a_program() -> None:
    ask = ask_of("白沙桥全长多少米？")
    seen = Seen(
        [Told("search_bocha", "白沙桥", f'<result id="s0-0" title="桥">{ZH.text}</result>')]
    )
    written = program(ask, facts_of(ask, seen), seen)
    assert 'Decimal("36") * 1000' in written


@pytest.mark.parametrize(
    ("written", "value"),
    [("两万一千", "21000"), ("八千八百", "8800"), ("十六", "16"), ("1,453", "1453"),
     ("thirty-two", "32"), ("2.8", "2.8")],
)  # fmt: skip
def test_numbers_in_words_are_read(written: str, value: str) -> None:
    assert plain(number_of(written)) == value


@pytest.mark.parametrize(
    ("sentence", "unit", "values"),
    [
        ("需要十六到二十周的训练", "周", ["16-20"]),
        ("sixteen to twenty weeks of training", "weeks", ["16-20"]),
        ("增加不超过百分之十，约占八成", "%", ["10", "80"]),
        ("偏移在几十米到几百米之间", "米", []),
        ("有52座建筑", "座", ["52"]),
    ],
)
def test_numbers_are_told_apart_by_their_units(sentence: str, unit: str, values: list[str]) -> None:
    assert [value.text for value in with_unit(sentence, unit)] == values


def test_a_place_is_told_by_its_line_on_the_map() -> None:
    line = (
        "[^a3-0] 青石书店(湖边店) | 书店 | 320 m | ★4.6 | ¥80 | 周一至周日 10:00-22:00 | 湖边路1号"
    )
    [card] = Seen([Told("maps_search_detail", "", line)]).cards
    assert card == Card(
        "a3-0", "青石书店(湖边店)", "4.6", "80", "周一至周日 10:00-22:00", "湖边路1号"
    )
    assert card.spans == [("10:00", "22:00")]


@pytest.mark.parametrize(
    ("question", "told"),
    [("青石书店人均多少元？", "¥80"), ("青石书店的评分是多少？", "★4.6")],
)
def test_what_is_told_of_a_place_holds_the_value(question: str, told: str) -> None:
    card = Card("a3-0", "青石书店", "4.6", "80", "周一至周日 10:00-22:00", "湖边路1号")
    fact = map_fact(ask_of(question).needs[0], card, Seen([]))
    assert fact
    assert fact.said == f"青石书店 | {told} | 周一至周日 10:00-22:00 | 湖边路1号"


@pytest.mark.parametrize(
    ("question", "last"),
    [
        ("石塔有多高？", "石塔 高度"),
        ("How tall is the Stone Tower?", "Stone Tower height"),
        ("When was the long dam completed?", "long dam built"),
    ],
)
def test_other_words_for_an_attribute_are_in_the_question_s_language(
    question: str, last: str
) -> None:
    assert queries(ask_of(question).needs[0])[-1] == last


def test_what_only_bears_the_name_of_a_kind_is_not_compared() -> None:
    asked = "maps_around_search location=1.0,2.0, keywords=公园, radius=2000"
    names = ("青石公园", "青石公园停车场", "青石饺子(青石公园店)", "湖滨绿地")
    listed = ",".join(f'{{"id":"{n}","name":"{name}"}}' for n, name in enumerate(names))
    details = "\n".join(f"[^a{n}-0] {name} | 公园 | ★4.{n}" for n, name in enumerate(names))
    seen = Seen(
        [
            Told("maps_around_search", asked, f'{{"pois":[{listed}]}}'),
            Told("maps_search_detail", "maps_search_detail id=0", details),
        ]
    )
    best = ask_of("青石附近评分最高的公园是哪座？").best
    assert best
    assert [card.name for card in candidates(best, seen)] == ["青石公园", "湖滨绿地"]


def test_what_tells_a_museum_of_something_from_others_must_lead_to_the_place() -> None:
    assert shortened("Shanghai Museum of Glass") == "Glass"
    assert shortened("Temple of the Sun") == "Sun"
    assert shortened("Shanghai Glass Museum") == "Shanghai Glass"
