from agent.evidence.maps import valid_map_task
from agent.evidence.mentions import in_list_order, list_numbers, mentioned
from agent.evidence.names import name_of_place
from agent.evidence.types import Place, PlaceVerdict
from tests.support.rows import by_examples
from tests.unit.cpu_time import takes_less


def place(name: str, ident: str | None = None) -> Place:
    return Place(
        id=ident or f"amap:{name}",
        name=name,
        location={"lng": 116.41, "lat": 39.91, "crs": "GCJ-02"},
        wgs84={"lng": 116.40, "lat": 39.90},
        address=None,
        category=None,
        district=None,
        city=None,
        distance_m=None,
        distance_from=None,
        rating=None,
        cost=None,
        open_time=None,
        photo=None,
        url="https://uri.amap.com/marker?poiid=x",
        source="a0-0",
        mentioned=False,
        keywords=[],
        detailed=False,
        fetched_at="2026-11-21T00:00:00Z",
    )


def named(names: list[str], text: str) -> set[str]:
    return {item.removeprefix("amap:") for item in mentioned([place(name) for name in names], text)}


def test_a_station_is_not_told_by_the_name_of_the_park_it_is_called_after() -> None:
    station = place("人民公园(地铁站)")
    station["category"] = "地铁站"
    assert mentioned([station], "从宽窄巷子走到人民公园喝茶") == {}
    assert [*mentioned([station], "在人民公园地铁站下车")] == ["amap:人民公园(地铁站)"]


def test_what_is_called_as_its_town_is_not_told_by_the_name_of_the_town() -> None:
    station = place("Helsinki")
    station.update({"city": "Helsinki", "name_en": "Helsinki railway station"})
    assert mentioned([station], "Two days in Helsinki") == {}
    assert [*mentioned([station], "From Helsinki railway station")] == ["amap:Helsinki"]


def test_a_place_is_found_with_and_without_its_branch() -> None:
    assert named(["海底捞(王府井店)"], "推荐海底捞（王府井店）。") == {"海底捞(王府井店)"}
    assert named(["海底捞(王府井店)"], "推荐**海底捞**，人均120。") == {"海底捞(王府井店)"}
    assert named(["Blue Bottle Coffee"], "Try blue bottle coffee first.") == {"Blue Bottle Coffee"}


def test_a_word_of_a_kind_names_no_place_that_has_no_name() -> None:
    """ "A playground" was taken for the name of every playground without one."""
    one: Place = {**place("playground (near Ateneum)"), "nameless": True}
    assert not mentioned([one], "A playground, a museum, lunch near Ateneum")
    assert mentioned([one], "first the playground near Ateneum")
    assert mentioned([one], "1. Playground (near Ateneum)")
    assert not mentioned([{**place("playground"), "nameless": True}], "a playground")


@by_examples
def test_a_word_in_small_letters_is_no_name(name: str, text: str, is_named: bool) -> None:
    assert named([name], text) == ({name} if is_named else set())


def test_one_branch_named_in_full_does_not_name_the_others() -> None:
    names = ["海底捞(王府井店)", "海底捞(三里屯店)"]
    assert named(names, "海底捞(三里屯店)更近，海底捞服务好。") == {"海底捞(三里屯店)"}
    assert named(names, "海底捞服务好。") == set(names)


def test_a_name_inside_a_longer_name_is_not_a_mention() -> None:
    names = ["故宫", "故宫博物院"]
    assert named(names, "可以去故宫博物院。") == {"故宫博物院"}
    assert named(names, "1. **故宫**：上午去") == {"故宫"}
    assert named(["外滩"], "外滩观光隧道很有趣") == set()


@by_examples
def test_an_address_names_no_stop_that_is_called_after_its_street(
    name: str, text: str, is_named: bool
) -> None:
    assert named([name], text) == ({name} if is_named else set())


@by_examples
def test_a_name_is_looked_up_without_how_far_its_place_is(said: str, name: str) -> None:
    assert name_of_place(said) == name
    task = valid_map_task({"intent": "route", "origin": said, "destination": "B", "via": [said]})
    assert task
    assert (task["origin"], task["via"]) == (name, [name])


def test_short_latin_names_and_parts_of_words_are_not_mentions() -> None:
    assert named(["M"], "M is a letter") == set()
    assert named(["Cafe"], "cafeteria") == set()
    assert named([""], "anything") == set()


def test_the_list_of_sources_and_urls_do_not_count() -> None:
    text = "没有推荐。[1](https://e.example/王府井书店)"
    text += "\n\n**来源**\n\n1. [王府井书店](https://x) — 高德"
    assert named(["王府井书店"], text) == set()


def test_many_places_in_a_long_answer_take_no_time() -> None:
    places, text = [place(f"咖啡馆{n}号(分店)") for n in range(200)], "王府井咖啡馆7号很好。" * 5000
    assert takes_less(lambda: mentioned(places, text), 3)


def test_places_stand_in_the_order_of_a_text_s_lists_and_others_behind() -> None:
    places = [place(name) for name in ("甲书店", "乙书店", "丙书店", "丁书店")]
    text = "最推荐丙书店。\n\n| 店 | 价 |\n|---|---|\n| 乙书店 | 5 |\n\n- 甲书店\n2. **丙书店**：好"
    text += "\n\n**来源**\n\n1. [丁书店](https://x) — 高德"
    listed = [each["name"] for each in in_list_order(places, text)]
    assert listed == ["乙书店", "甲书店", "丙书店", "丁书店"]
    assert in_list_order(places, "丙书店比乙书店好。") == places


def test_what_rows_are_about_stands_before_what_their_cells_name_besides() -> None:
    """The station of the first row was "the second one" of a table of cafés."""
    places = [place(name) for name in ("团结湖地铁站", "甲咖啡馆", "乙咖啡馆")]
    text = "| 店 | 地铁 |\n| --- | --- |\n| 乙咖啡馆 | 团结湖地铁站 622 m |\n| 甲咖啡馆 | 无 |\n"
    listed = [each["name"] for each in in_list_order(places, text)]
    assert listed == ["乙咖啡馆", "甲咖啡馆", "团结湖地铁站"]


def test_an_item_whose_lead_is_a_translated_name_is_about_the_one_place_that_it_links_to() -> None:
    museum = Place(**{**place("Rahamuseo"), "url": "https://o/1"})  # type: ignore[typeddict-item]
    other = Place(**{**place("Oodi"), "url": "https://o/2"})  # type: ignore[typeddict-item]
    text = "1. **Музей Банка**: рядом[1](https://o/1)\n2. **Oodi**: рядом[2](https://o/2)"
    assert list_numbers([museum, other], text) == {"amap:Rahamuseo": (1, ""), "amap:Oodi": (2, "")}
    assert list_numbers([museum, other], text.replace("**", "")) == {"amap:Oodi": (2, "")}


def test_a_name_is_named_with_its_accents_and_without_them() -> None:
    names = ["Cafe Engel", "Östra Krogen"]
    assert named(names, "Café Engel, then Ostra Krogen.") == set(names)


def test_of_branches_of_one_name_an_item_is_about_the_one_that_it_links_to() -> None:
    cafes = [
        Place(**{**place("Espresso House", f"osm:{n}"), "url": f"https://o/{n}"}) for n in "12"
    ]
    other = place("Roasberg")
    text = (
        "- Espresso House 90 m[1](https://o/2)\n- Roasberg\n- Espresso House 300 m[2](https://o/1)"
    )
    order = in_list_order([*cafes, other], text)
    assert [one["id"] for one in order] == ["osm:2", "amap:Roasberg", "osm:1"]


def test_the_steps_of_a_way_number_no_place_and_are_no_list_of_places() -> None:
    """The third step named a café beside the goal: the pins began with 4, 5, 3."""
    cafes = found_by("cafe", "Café Aalto", "Espresso House", "Fazer Café")
    steps = "1. Out of the station.\n2. Left.\n3. It is beside Café Aalto.\n"
    text = f"{steps}\nOn the way:\n- Espresso House\n- Fazer Café\n- Café Aalto"
    assert list_numbers(cafes, text) == {}
    assert order(cafes, text) == ["Espresso House", "Fazer Café", "Café Aalto"]
    places = "1. Espresso House\n2. A kiosk\n3. Café Aalto"
    assert list_numbers(cafes, places) == {
        "amap:Espresso House": (1, ""), "amap:Café Aalto": (3, ""),
    }  # fmt: skip


def test_a_bold_name_that_only_begins_with_a_place_s_one_is_another_place() -> None:
    text = (
        "- **Olivia Central Station**: in the old hall\n- **Harald Café**: 253 m\n- **Kiila**: 1 km"
    )
    cafe = Place(**{**place("Harald"), "category": "cafe"})  # type: ignore[typeddict-item]
    found = mentioned([place("Olivia"), cafe, place("Kiila")], text)
    assert {*found} == {"amap:Harald", "amap:Kiila"}
    assert named(["Olivia"], "**Olivia**, Central Station: Italian") == {"Olivia"}


def found_by(keyword: str, *names: str, fails: bool = False) -> list[Place]:
    verdict = PlaceVerdict(constraint="max_cost", verdict="violated", field="cost", text="dear")
    own = {"keywords": [keyword], "verdicts": [verdict] * fails}
    return [Place(**{**place(name), **own}) for name in names]  # type: ignore[typeddict-item]


def order(places: list[Place], text: str) -> list[str]:
    return [each["name"] for each in in_list_order(places, text)]


def test_what_a_text_chooses_before_its_lists_leads_and_a_list_of_what_fails_is_behind() -> None:
    chosen = found_by("hotel", "Courtyard")
    dear = found_by("hotel", "Toy Story Hotel", "Castle Hotel", fails=True)
    parks = found_by("parking", "P2 Car Park", "Town Car Park")
    text = (
        "**Courtyard** it is.\n\nOver the budget:\n- Toy Story Hotel\n- Castle Hotel\n\n"
        "To park:\n1. P2 Car Park\n2. Town Car Park\n\nCastle Hotel is the dearest."
    )
    names = ["Courtyard", "P2 Car Park", "Town Car Park", "Toy Story Hotel", "Castle Hotel"]
    assert order([*parks, *dear, *chosen], text) == names


def test_what_a_choice_stands_beside_does_not_lead() -> None:
    """A car park under the mall with a restaurant in it: the restaurant was "the first one"."""
    parks = found_by("parking", "Plaza Car Park", "Mall Car Park")
    for park in parks:
        park["distance_from"] = "Donglaishun"
    text = "Donglaishun has one below it, the Mall Car Park.\n\nAnother:\n- Plaza Car Park"
    names = ["Mall Car Park", "Plaza Car Park", "Donglaishun"]
    assert order([*found_by("hot pot", "Donglaishun"), *parks], text) == names


def test_the_hotel_that_is_chosen_leads_though_a_car_park_was_searched_around_it() -> None:
    chosen, dear = found_by("hotel", "Courtyard"), found_by("hotel", "Castle Hotel", fails=True)
    [park] = found_by("parking", "P2 Car Park")
    park["distance_from"] = "Courtyard"
    text = "**Courtyard** it is.\n\nOver the budget:\n- Castle Hotel\n\nTo park:\n1. P2 Car Park"
    assert order([park, *dear, *chosen], text) == ["Courtyard", "P2 Car Park", "Castle Hotel"]


def test_a_choice_leads_also_where_its_list_is_of_what_another_search_found() -> None:
    """The one hotel within the budget stood behind three car parks, a teahouse behind museums."""
    hotel, parks = found_by("hotel", "Courtyard"), found_by("parking", "P1", "P2")
    text = "**Courtyard** fits, 700 a night.\n\nTo park:\n- P1 Car Park\n- P2 Car Park"
    parks = [Place(**{**park, "name": f"{park['name']} Car Park"}) for park in parks]
    assert order([*parks, *hotel], text) == ["Courtyard", "P1 Car Park", "P2 Car Park"]


def test_two_places_of_one_item_stand_together() -> None:
    cafes = found_by("cafe", "Story", "Starbucks", "Esplanad", "Picnic")
    station = found_by("station", "Kamppi")
    text = "- Picnic and Esplanad, from Kamppi 300 m, beside Story\n- Starbucks\n- Story"
    names = ["Picnic", "Esplanad", "Starbucks", "Story", "Kamppi"]
    assert order([*station, *cafes], text) == names
