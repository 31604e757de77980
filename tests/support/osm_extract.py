"""Elements of an extract of OpenStreetMap, in Overpass's own form."""

import os
from typing import Any

import pytest

EXTRACT = "TANLU_TEST_OSM_EXTRACT"
"""Names a file of OpenStreetMap (.osm.pbf) that stays where it is."""


def extract_elements() -> list[dict[str, Any]]:
    """Return what has a name in the extract; skip where none is named or nobody can read it.

    A museum, a market hall, a park is mostly drawn as an outline: it stands at its middle.
    """
    path = os.environ.get(EXTRACT)
    if not path:
        pytest.skip(f"{EXTRACT} names no extract")
    osmium = pytest.importorskip("osmium", reason="osmium reads extracts")
    elements = list[dict[str, Any]]()

    class Handler(osmium.SimpleHandler):  # type: ignore[misc]
        def node(self, node: Any) -> None:
            tags = dict(node.tags)
            if tags.get("name") or tags.get("amenity") or tags.get("leisure"):
                at = {"lat": node.location.lat, "lon": node.location.lon}
                elements.append({"type": "node", "id": node.id, **at, "tags": tags})

        def way(self, way: Any) -> None:
            tags, ends = dict(way.tags), [n.location for n in way.nodes if n.location.valid()]
            if tags.get("name") and "highway" not in tags and ends:
                lats, lons = [end.lat for end in ends], [end.lon for end in ends]
                at = {"lat": (min(lats) + max(lats)) / 2, "lon": (min(lons) + max(lons)) / 2}
                elements.append({"type": "way", "id": way.id, **at, "tags": tags})

    Handler().apply_file(path, locations=True)
    city = {"place": "city", "name": "Helsinki", "name:en": "Helsinki", "name:zh": "赫尔辛基"}
    middle = {"lat": 60.1675, "lon": 24.9427, "box": [24.90, 60.15, 24.98, 60.19]}
    elements.append({"type": "relation", "id": 34914, **middle, "tags": city, "country": "fi"})
    return elements
