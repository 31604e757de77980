"""Replies as services send them: short, of every field that a reader of ours looks at."""

from typing import Any

GROUNDING: dict[str, Any] = {
    "webSearchQueries": ["王府井"],
    "searchEntryPoint": {"renderedContent": "<div>q</div>"},
    "groundingChunks": [
        {"web": {"uri": "https://a.example/1", "title": "a.example", "domain": "a.example"}},
        {"web": {"uri": "https://b.example/2", "title": "B"}},
    ],
    "groundingSupports": [
        {"segment": {"startIndex": 0, "endIndex": 6, "partIndex": 0, "text": "好的"},
         "groundingChunkIndices": [0, 1], "confidenceScores": [0.5, 1.0]},
        {"segment": {"endIndex": 3}, "groundingChunkIndices": [1]},
    ],
}  # fmt: skip
GEMINI: dict[str, Any] = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": "a thought", "thought": True},
                    {"text": "好的。"},
                    {"functionCall": {"name": "look", "args": {"query": "x"}}},
                ],
            },
            "finishReason": "STOP",
            "groundingMetadata": GROUNDING,
        }
    ],
    "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7},
    "modelVersion": "m-1",
    "responseId": "r",
}
MESSAGE: dict[str, Any] = {
    "role": "assistant",
    "content": [{"type": "text", "text": "好的"}, {"type": "thinking", "thinking": "x"}, "tail"],
    "reasoning_content": "x",
    "tool_calls": [
        {"id": "c1", "type": "function", "index": 0,
         "function": {"name": "look", "arguments": '{"query": "x"}'}},
        {"function": {"name": "look", "arguments": {"query": "x"}}},
    ],
    "function_call": {"name": "look", "arguments": "{}"},
}  # fmt: skip
QUERIES: dict[str, Any] = {
    "query": [
        {"query": "王府井", "map": {"intent": "nearby", "place": "王府井", "keywords": ["公园"]}}
    ],
    "rationale": "r",
    "is_sufficient": False,
    "knowledge_gap": "",
    "follow_up_queries": [{"query": "b"}],
}
HITS: dict[str, Any] = {
    "tavily": {"results": [{"title": "T", "url": "https://a.example/", "content": "c",
                            "published_date": "2026-11-01", "score": 0.9}]},
    "serper": {"organic": [{"title": "T", "link": "https://a.example/", "snippet": "s",
                            "date": "3 days ago", "position": 1}],
               "answerBox": {"title": "t", "answer": "42", "link": "https://a.example/b"},
               "knowledgeGraph": {"title": "k", "description": "d", "attributes": {"Height": "1 m"},
                                  "website": "https://k.example/"}},
    "bocha": {"code": 200, "msg": None, "data": {"webPages": {"value": [
        {"name": "N", "url": "https://a.example/", "summary": "s", "siteName": "S",
         "datePublished": "2026-11-01T00:00:00Z"}]}}},
    "wikipedia": {"batchcomplete": True, "query": {"pages": [
        {"pageid": 1, "index": 1, "title": "T", "fullurl": "https://zh.wikipedia.example/T",
         "extract": "text"},
        {"pageid": 2, "index": 2, "title": "U", "fullurl": "https://zh.wikipedia.example/U"}]}},
    "openalex": {"results": [
        {"id": "https://openalex.example/W1", "doi": "https://doi.org/10.1/x", "display_name": "P",
         "publication_year": 2024, "publication_date": "2024-01-02", "cited_by_count": 3,
         "authorships": [{"author": {"display_name": "A"}}],
         "abstract_inverted_index": {"We": [0, 2], "show": [1]},
         "best_oa_location": {"pdf_url": "https://p.example/x.pdf"}}]},
    "semantic_scholar": {"total": 1, "data": [
        {"title": "P", "abstract": "a", "year": 2024, "url": "https://s.example/p",
         "authors": [{"name": "A"}], "externalIds": {"DOI": "10.1/x"},
         "openAccessPdf": {"url": "https://p.example/x.pdf"}, "citationCount": 3,
         "publicationDate": "2024-01-02"}]},
    "sec_facts": {"units": {"USD": [
        {"end": "2025-12-31", "start": "2025-01-01", "val": 1000, "fy": 2025, "fp": "FY",
         "form": "10-K", "filed": "2026-02-01", "accn": "0000320193-26-000001"},
        {"end": "2026-03-31", "start": "2026-01-01", "val": 1.5, "fy": 2026, "fp": "Q1",
         "form": "10-Q", "filed": "2026-05-01", "accn": "0000320193-26-000002"}]}},
    "sec_companies": {"0": {"cik_str": 320193, "ticker": "AAPL", "title": "Apple Inc."},
                      "1": {"cik_str": 789019, "ticker": "MSFT", "title": "Microsoft Corp"}},
}  # fmt: skip
_POI = {"id": "B0", "name": "书店", "address": "王府井大街", "typecode": "061205",
        "location": "116.41,39.91",
        "photos": {"url": "http://store.is.autonavi.com/x"}}  # fmt: skip
_PATH = {"distance": "900", "duration": "640",
         "steps": [{"instruction": "向东步行", "distance": "90", "road": "r"}]}  # fmt: skip
_POINTS = {"origin": "116.41,39.91", "destination": "116.42,39.92", "city": "北京", "cityd": "北京"}
AMAP: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "maps_geo": ({"address": "王府井", "city": "北京"}, {"return": [
        {"country": "中国", "province": "北京市", "city": "北京市", "district": "东城区",
         "location": "116.41,39.91", "level": "热点商圈"}]}),
    "maps_regeocode": ({"location": "116.41,39.91"},
                       {"provice": "北京市", "city": [], "district": "东城区"}),
    "maps_around_search": ({"location": "116.41,39.91", "radius": "1500", "keywords": "书店"},
                           {"pois": [_POI, {**_POI, "id": "B1"}]}),
    "maps_text_search": ({"keywords": "书店", "city": "北京"},
                         {"suggestion": {"keywords": [], "cities": []}, "pois": [_POI]}),
    "maps_search_detail": ({"id": "B0"}, {
        **_POI, "city": "北京市", "type": "餐饮服务;咖啡厅;咖啡厅", "alias": "Book Shop",
        "business_area": "王府井", "cost": "30.00", "rating": "4.6", "opentime2": "08:00-22:00",
        "open_time": "08:00-22:00"}),
    "maps_distance": ({"origins": "116.41,39.91", "destination": "116.42,39.92", "type": "0"},
                      {"results": [{"origin_id": "1", "dest_id": "1", "distance": "900",
                                    "duration": "10"}]}),
    "maps_direction_walking": (_POINTS, {"route": {"origin": "116.41,39.91",
                               "destination": "116.42,39.92", "paths": [_PATH]}}),
    "maps_direction_driving": (_POINTS, {"route": {"paths": [_PATH]}}),
    "maps_bicycling": (_POINTS, {"data": {"paths": [_PATH]}}),
    "maps_direction_transit_integrated": (_POINTS, {"route": {"distance": "9000", "transits": [
        {"duration": "1800", "walking_distance": "300", "segments": [
            {"walking": {"distance": "300", "steps": []},
             "bus": {"buslines": [{"name": "1路", "departure_stop": {"name": "A"},
                                   "arrival_stop": {"name": "B"}, "distance": "800",
                                   "via_stops": [{"name": "C"}]}]},
             "entrance": {"name": ""}, "exit": {"name": ""}, "railway": {"name": ""}}]}]}}),
    "maps_weather": ({"city": "北京"}, {"city": "北京市", "forecasts": [
        {"date": "2026-11-28", "week": "6", "dayweather": "晴", "nightweather": "多云",
         "daytemp": "9", "nighttemp": "-1", "daywind": "北", "daypower": "1-3"}]}),
}  # fmt: skip
"""Arguments and the reply of each tool."""
_ROW = {"osm_type": "node", "osm_id": 11, "lat": "52.52", "lon": "13.40", "category": "amenity",
        "type": "cafe", "name": "Café", "display_name": "Café, Berlin",
        "address": {"road": "Weg", "city": "Berlin", "country_code": "de"},
        "namedetails": {"name": "Café", "name:en": "Café", "name:zh": "咖啡"},
        "extratags": {"opening_hours": "Mo-Fr 08:00-18:00", "fee": "no"},
        "boundingbox": ["52.5", "52.6", "13.3", "13.5"]}  # fmt: skip
_ELEMENT = {"type": "way", "id": 7, "center": {"lat": 52.52, "lon": 13.4},
            "tags": {"amenity": "cafe", "name": "Café", "cuisine": "vegan;cake",
                     "diet:vegan": "only", "opening_hours": "Mo-Fr 08:00-18:00"}}  # fmt: skip
_ENDS = {"origin": "13.4,52.5", "destination": "13.5,52.6", "mode": "walking"}
_STEP = {"maneuver": {"type": "turn", "modifier": "left"}, "name": "Weg", "distance": 90.5}
OSM: dict[str, tuple[dict[str, Any], Any]] = {
    "osm_geocode": ({"query": "Café", "language": "en", "countries": "de"}, [_ROW, _ROW]),
    "osm_reverse": ({"location": "13.4,52.5"}, _ROW),
    "osm_details": ({"ids": "node/11|way/7"}, [_ROW]),
    "osm_nearby": ({"location": "13.4,52.5", "kinds": "cafe|vegan", "radius_m": 500},
                   {"elements": [_ELEMENT, {**_ELEMENT, "id": 8}]}),
    "osm_route": (_ENDS, {"code": "Ok", "routes": [{
        "distance": 900.5, "duration": 600, "legs": [{"steps": [_STEP, _STEP]}],
        "geometry": {"coordinates": [[13.4, 52.5], [13.5, 52.6]]}}]}),
    "osm_matrix": ({"origins": "13.4,52.5", "destinations": "13.5,52.6|13.6,52.6",
                    "mode": "walking"},
                   {"code": "Ok", "distances": [[900.5, 1000]], "durations": [[600, 700.5]]}),
    "osm_weather": ({"location": "13.4,52.5", "days": 3}, {"timezone": "Europe/Berlin", "daily": {
        "time": ["2026-11-28"], "weather_code": [61], "temperature_2m_max": [4.6],
        "temperature_2m_min": [-1], "wind_speed_10m_max": [22],
        "wind_direction_10m_dominant": [312]}}),
}  # fmt: skip
"""Arguments of each tool, and what the service behind it replies."""
ROWS: tuple[dict[str, Any], dict[str, Any]] = (
    {"id": "1", "question": "q?", "answer": "a", "level": 2, "metadata": {"steps": "1. x"}},
    {"id": "1", "config": "c", "status": "answered", "question": "q", "answer": "a", "error": None,
     "sources": [{"title": "t"}], "usage": {"cost_usd": 0.1}, "models": {}, "seconds": 1.5,
     "attempt": 1, "earlier_cost_usd": 0.2, "claims": {"total": 3}, "key": "k", "subject": "s",
     "judge": "j", "by": "b", "version": "1", "at": "2026-11-28", "cost_usd": 0.1},
)  # fmt: skip
LINES: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/call",
    "params": {"name": "agent", "arguments": {"question": "q"}, "_meta": {"progressToken": 1}},
}
