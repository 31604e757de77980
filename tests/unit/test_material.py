"""What a writer is shown of all that was read: quoted passages first, then the nearest."""

from agent.assistants.common.material import chosen_passages, page_elements, without_shown
from agent.assistants.common.workspace import Item, RankedPassages
from agent.evidence.types import Source
from agent.state import Previous

FILLER = "The weather of that month was mild, and nobody in the town remarked on it at all."


def item(name: str, *facts: str, title: str = "Notes", date: str = "") -> Item:
    """An item whose facts stand far apart, a passage each."""
    text = "\n".join(line for fact in facts for line in (fact, *[FILLER] * 6))
    return Item(kind="page", title=title, url=f"https://a.example/{name}", text=text,
                date=date, site="a.example", id=name)  # fmt: skip


RENT = "The rent of hall four is 84,000 euros a year, due in January."
POWER = "The connection delivers 605 kW, as measured in June."
LICENCE = "The licence is AGPL, a commercial one costs 900 dollars."
PAGES = [item("w100-1", RENT, POWER, date="2026-04-02"), item("w100-2", LICENCE)]


def texts(quotes: dict[str, list[str]], *queries: str, tokens: int = 4000) -> list[str]:
    return [
        passage.text for passage in chosen_passages(RankedPassages(PAGES, queries), quotes, tokens)
    ]


def test_what_notes_quote_comes_first_with_what_stands_around_it() -> None:
    found = texts({"w100-1": ["The connection gives 605 kW in June."]}, "licence")
    assert POWER in found[0]
    assert any(LICENCE in text for text in found)
    small = texts({"w100-1": ["The connection gives 605 kW in June."]}, "licence", tokens=220)
    assert POWER in small[0]


def test_each_query_has_its_best_passage_before_any_has_its_second() -> None:
    found = "\n".join(texts({}, "rent of hall four", "licence commercial", tokens=300))
    assert RENT in found
    assert LICENCE in found


def test_no_passage_is_shown_twice_and_no_more_than_there_is_room_for() -> None:
    quotes = {"w100-1": [RENT, POWER], "w100-2": [LICENCE]}
    for tokens in (0, 150, 300, 600, 5000):
        passages = chosen_passages(
            RankedPassages(PAGES, ["rent", "power", "licence"]), quotes, tokens
        )
        assert len({passage.name for passage in passages}) == len(passages)
        assert sum(passage.tokens for passage in passages) <= tokens


def test_pages_are_shown_with_their_ids_and_dates_and_what_is_left_out() -> None:
    rows = page_elements(
        PAGES, chosen_passages(RankedPassages(PAGES[:1], ["power connection"]), {}, 170)
    )
    head = '<page id="w100-1" title="Notes" site="a.example" published="2026-04-02">'
    assert rows.startswith(head)
    assert "605 kW" in rows
    assert "…" in rows
    assert "w100-2" not in rows


def test_the_last_turns_words_that_a_shown_page_has_are_not_shown_twice() -> None:
    page = Item("page", "Prices", "https://a.example/prices", "It costs $5 a month.", id="w11-1")
    again, other = page.source(["It costs $5 a month."]), page.source(["It was $4."])
    calculated = Source(**{**again, "id": "p0-2", "url": "", "quotes": ["5 × 12 = 60"]})
    both = Source(**{**again, "id": "p0-1", "quotes": [*again["quotes"], *other["quotes"]]})
    previous = Previous(sources=[Source(**{**again, "id": "p0-0"}), both, calculated], places=[])
    left = without_shown(previous, [page], page.passages)["sources"]
    assert [(each["id"], each["quotes"]) for each in left] == [
        ("p0-1", ["It was $4."]),
        ("p0-2", ["5 × 12 = 60"]),
    ]
    assert without_shown(previous, [page], []) == previous
