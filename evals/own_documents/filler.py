"""Files that are much alike, for the collections that are large: minutes and walks along a canal.

They are the same at each run. The labels name the months that say something of weight.
"""

import random
from collections.abc import Iterator, Mapping, Sequence

_MINUTES = (
    "Councillor {who} asked the clerk how many {what} had been counted in {where}; {number} were.",
    "It was resolved, {number} votes to {few}, to leave the {what} in {where} as they are.",
    "A petition of {number} names on the {what} in {where} was read and sent to the committee.",
    "The surveyor told that the {what} near {where} had cost {number},{more} in the last year.",
    "Councillor {who} and Councillor {other} differed on the {what}; nothing was decided.",
    "The tender for the {what} in {where} goes to the lower of {few} bidders, at {number},{more}.",
    "Thanks were given to {who} for {number} hours of work on the {what} in {where}.",
)
_WORDS: Mapping[str, Sequence[str]] = {
    "what": ("street lamps", "hedges", "bus shelters", "allotments", "litter bins", "kerbs",
             "signposts", "market stalls", "elms", "footpaths", "gullies", "notice boards"),
    "where": ("Mill Street", "Upper Green", "the station yard", "Cooper's Row", "Tenter Hill",
              "the north ward", "Saltgate", "the old quay", "Barley Close", "Nine Acres"),
    "who": ("Amery", "Bastow", "Cole", "Dunstan", "Eastick", "Farrow", "Gedge", "Hurrell"),
}  # fmt: skip
_WALKS = (
    "{day} 日　{sky}。{gate}号口水深{depth}厘米，过水正常。",
    "{day} 日　{sky}。{gate}号口门前捞草{number}筐，拦污栅完好。",
    "{day} 日　{sky}。巡至{gate}号口折返，路边护坡有鼠洞{few}处，已填。",
    "{day} 日　{sky}。{gate}号口开半孔，放水{few}小时，用水户已签字。",
)
_GATES, _SKIES = "一二四五七八", ("晴", "多云", "阴", "小雨")


def files(kind: str, planted: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield the files of a kind, name and text; `planted` are sentences by file."""
    first, months, make = {
        "council": ((2024, 1), 32, _minutes),
        "canal": ((2024, 9), 24, _walks),
    }[kind]
    for month in range(months):
        year, number = divmod(first[0] * 12 + first[1] - 1 + month, 12)
        when = f"{year}-{number + 1:02}"
        name = f"minutes-{when}.txt" if kind == "council" else f"巡渠-{when}.txt"
        yield name, make(when, random.Random(when), planted.get(name, ()))  # noqa: S311 - no secret


def _minutes(when: str, chance: random.Random, planted: Sequence[str]) -> str:
    paragraphs = [_paragraph(chance) for _ in range(24)]
    for sentence in planted:
        at = chance.randrange(len(paragraphs))
        paragraphs[at] += f" It was said for the record that {sentence}."
    return f"Minutes of the council, {when}\n\n" + "\n\n".join(paragraphs) + "\n"


def _paragraph(chance: random.Random) -> str:
    return " ".join(_sentence(chance, chance.choice(_MINUTES)) for _ in range(8))


def _sentence(chance: random.Random, form: str) -> str:
    who, other = chance.sample(_WORDS["who"], 2)
    chosen = {name: chance.choice(words) for name, words in _WORDS.items()}
    figures = {"number": chance.randint(11, 98), "few": chance.randint(2, 9)}
    return form.format(**{**chosen, "who": who, "other": other, **figures,
                          "more": f"{chance.randint(1, 9)}00"})  # fmt: skip


def _walks(when: str, chance: random.Random, planted: Sequence[str]) -> str:
    lines = [
        chance.choice(_WALKS).format(
            day=day, sky=chance.choice(_SKIES), gate=chance.choice(_GATES),
            depth=chance.randint(21, 64), number=chance.randint(2, 9), few=chance.randint(2, 6),
        )
        for day in range(2, 29, 3)
    ]  # fmt: skip
    for sentence in planted:
        lines[chance.randrange(len(lines))] += f"{sentence}。"
    return f"青石渠巡查记录 {when}\n\n" + "\n\n".join(lines) + "\n"
