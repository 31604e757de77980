"""Call a place by its asker's word: the Bund, not its sound Waitan, where its name is 外滩."""

from collections.abc import Mapping, Sequence

from agent.core.strings import alphabets, has_han, parted_brackets
from agent.evidence.language import fold, words
from agent.evidence.names import own_distance
from agent.evidence.types import Anchor, Distance, MapTask, Place, Route, Source
from agent.texts import Language, is_chinese, say
from agent.texts.languages import may_be

BETWEEN_STOPS = " → "
"""Between the further stops of a way, as its destination names them."""

_WITHOUT_FORMS = frozenset({"CJK", "HIRAGANA", "KATAKANA"})
"""Scripts in which a word stands in a question as it stands alone, and a branch behind any name."""

_LONGEST_NAME = 80

AskerWords = Mapping[str, str]
"""The asker's words by the names that the map has."""


def with_said(task: MapTask, asked: str) -> MapTask:
    """Return a task whose places are without the asker's words behind them, which it keeps.

    They are kept where they stand in what was asked; a branch's name stays what it is.
    """
    told, known, said = MapTask(**task), words(asked), dict[str, str]()
    folded = fold(asked)

    def bare(name: str) -> str:
        own, word = parted_brackets(name)
        if not (own and word.strip()):
            return name
        word = word.strip()
        # 寛窄巷子 is 宽窄巷子 and 東京駅 is 东京站; a branch has a part of its name in brackets.
        is_alike = not words(own).isdisjoint(words(word))
        is_other = fold(word) in folded and fold(own) not in folded
        is_said = not known.isdisjoint(words(word)) and known.isdisjoint(words(own))
        is_same = fold(word) == fold(own)
        # A Russian asks "от Сенатской площади": the form behind the name is none of the question's.
        letters = alphabets(word)
        is_foreign = bool(letters) and letters.isdisjoint(alphabets(own) | _WITHOUT_FORMS)
        is_said = is_said or (is_foreign and letters <= alphabets(asked) - {"LATIN"})
        if is_said or (is_alike and is_other) or (is_same and word != own and word in asked):
            said[own] = word
        return own if own in said or is_same or is_foreign else name

    for key in ("place", "origin", "destination"):
        if name := task.get(key):
            told[key] = bare(str(name))
    if "via" in task:
        told["via"] = [bare(name) for name in task["via"]]
    if said:
        told["said"] = said
    return told


def names_said(task: MapTask, meant: Mapping[str, str]) -> dict[str, str]:
    """Return the asker's words by the names that the map has for them.

    `meant` is what was found for the names that were looked up.
    """
    said, found = task.get("said", {}), dict[str, str]()
    for name, own in (*meant.items(), *zip(said, said, strict=True)):
        is_foreign = has_han(own) and not has_han(name)
        if word := said.get(name) or (name if is_foreign else ""):
            found[own] = word
    return found


def called_as_written(places: Sequence[Place], text: str, reader: Language) -> list[Place]:
    """Return places called as a text calls them behind their names, in its reader's script.

    "Suomen Pankin rahamuseo (Музей Банка Финляндии)" is no "Bank of Finland Museum" to a Russian.
    A name begins with a capital, where a script has those: "(музей)" tells what it is. So is one
    in bold before the map's own in brackets: "**Музей Банка Финляндии** (Suomen Pankin rahamuseo)".
    """
    letters = alphabets(say("records.modes.walking", reader))
    script = letters - {"LATIN"}

    def own(place: Place) -> str:
        _, is_named, rest = text.partition(f"{place['name']} (")
        name, closes, _ = rest[:_LONGEST_NAME].partition(")")
        is_name = bool(is_named and closes) and name[:1].isupper() and alphabets(name) <= script
        return name if is_name and script.isdisjoint(alphabets(place.get("name_en", ""))) else ""

    def called(place: Place) -> Place:
        name, before = own(place), _bold_before(place["name"], text)
        is_read = bool(before) and alphabets(before) <= letters | alphabets(place["name"])
        if is_chinese(reader):
            is_other = is_read and has_han(before) and not has_han(place["name"])
            shown = f"{before} ({place['name']})"
            return Place(**{**place, "name_hant": shown}) if is_other else place
        known = alphabets(place.get("name_en", ""))
        is_new = is_read and letters.isdisjoint(known) and not letters.isdisjoint(alphabets(before))
        name = name or (before if is_new else "")
        return Place(**{**place, "name_en": name}) if name else place

    return [*map(called, places)]


def _bold_before(name: str, text: str) -> str:
    """Return what a text has in bold before a name in brackets; empty where that is no name.

    The brackets are bold, too, or behind it.
    """
    for opens, closes in ("()", "（）"):
        before, is_there, _ = text.partition(f"{opens}{name}{closes}")
        line = before.rpartition("\n")[2].rstrip()
        bold = line.removesuffix("**").rpartition("**")
        is_bold = bool(is_there and bold[1]) and line.count("**") % 2 == (not line.endswith("**"))
        word = bold[2].replace("：", ":").rpartition(":")[2].strip()
        is_name = 0 < len(word) <= _LONGEST_NAME and (word[0].isupper() or has_han(word[0]))
        if is_bold and is_name and fold(word) != fold(name):
            return word
    return ""


def words_before(known: Sequence[Place], reader: Language) -> dict[str, str]:
    """Return what places and their origins were called before in a conversation, for its reader.

    By the names that the map has: a place has one name, in all lists and in every round.
    """
    fars = [far for each in known for far in (own_distance(each), *each.get("further", []))]
    told = [(each["name"], each.get("name_en", "")) for each in known]
    told += [(far["origin"], far.get("origin_en", "")) for far in fars]
    return {name: word for name, word in reversed(told)
            if name and word and (word.isascii() or may_be(reader, word))}  # fmt: skip


def stop_names(route: Route) -> list[str]:
    """Return the names of a way's stops, both ends among them."""
    return [route["origin"], *route["destination"].split(BETWEEN_STOPS)]


def place_said(place: Place, said: AskerWords) -> Place:
    """Return a place that is, and is far from, what its asker calls so."""
    told = Place(**place)
    if word := said.get(place["name"]):
        told.setdefault("name_en", word)
    if word := said.get(place["distance_from"] or ""):
        told["distance_from_en"] = word
    if "further" in place:
        told["further"] = [
            Distance(**{**each, "origin_en": said[each["origin"]]})
            if each["origin"] in said
            else each
            for each in place["further"]
        ]
    return told


def route_said(route: Route, said: AskerWords) -> Route:
    """Return a way whose ends are called as its asker calls them."""
    stops = stop_names(route)
    if said.keys().isdisjoint(stops):
        return route
    begin, *others = (said.get(name, name) for name in stops)
    told = Route(**{**route, "origin_en": begin, "destination_en": BETWEEN_STOPS.join(others)})
    if "ends" in route:
        told["ends"] = [anchor_said(end, said) for end in route["ends"]]
    return told


def source_said(source: Source, routes: Sequence[Route]) -> Source:
    """Return a source whose title names the ends of a way as its asker does, also when asked again.

    A name may have the other in it: Museum of Modern Art Kiasma.
    """
    title = source["title"]
    for route in routes:
        if route["source"] == source["id"] and "origin_en" in route:
            listed = f"{route['origin']} → {route['destination']}"
            called = f"{route['origin_en']} → {route['destination_en']}"
            title = title if called in title else title.replace(listed, called)
    return Source(**{**source, "title": title})


def anchor_said(anchor: Anchor, said: AskerWords) -> Anchor:
    """Return a centre that is called as its asker calls it."""
    word = said.get(anchor["name"])
    return Anchor(**{**anchor, "name_en": word}) if word else anchor
