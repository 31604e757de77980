import random
from typing import Any, cast

import pytest

from agent.evidence.grounding import (
    Support,
    get_citations,
    ground,
    insert_citation_markers,
    says_not_found,
    without_unsupported,
)
from agent.evidence.types import Source
from tests.support.rows import by_examples

REDIRECT = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/"


def chunk(name: str, title: str | None = None) -> dict[str, Any]:
    return {"web": {"uri": REDIRECT + name, "title": title}}


def support(text: str, source: str, *chunks: int, part: int = 0) -> dict[str, Any]:
    """A support with honest byte offsets of `text` within `source`; zeros are left out."""
    start = len(source[: source.index(text)].encode())
    segment = {"text": text, "endIndex": start + len(text.encode())}
    if start:
        segment["startIndex"] = start
    if part:
        segment["partIndex"] = part
    return {"segment": segment, "groundingChunkIndices": list(chunks)}


def marked(parts: list[str], metadata: Any) -> str:
    return ground(parts, metadata, prefix="w0", provider="google").text


ZH = "故宫位于北京中轴线。门票旺季六十元。周一闭馆。"


def test_d13_offsets_are_bytes_in_chinese() -> None:
    metadata = {
        "groundingChunks": [chunk("a", "dpm.org.cn"), chunk("b", "beijing.gov.cn")],
        "groundingSupports": [
            support("故宫位于北京中轴线。", ZH, 0),
            support("周一闭馆。", ZH, 1, 0),
        ],
    }
    assert marked([ZH], metadata) == (
        "故宫位于北京中轴线。[^w0-0]门票旺季六十元。周一闭馆。[^w0-1][^w0-0]"
    )


def test_snake_case_metadata_means_the_same() -> None:
    result = ground(
        ["One. Two."],
        {
            "grounding_chunks": [{"web": {"uri": "https://a.example/x", "title": "A"}}],
            "grounding_supports": [
                {
                    "segment": {"start_index": 5, "end_index": 9, "text": "Two."},
                    "grounding_chunk_indices": [0],
                }
            ],
            "web_search_queries": ["q1", None, "q2"],
            "search_entry_point": {"rendered_content": "<div>x</div>"},
        },
        prefix="w3",
        provider="google",
    )
    assert result.text == "One. Two.[^w3-0]"
    assert result.queries == ["q1", "q2"]
    assert result.search_entry_point == "<div>x</div>"
    assert result.searched
    assert result.sources == [
        Source(
            id="w3-0",
            kind="page",
            title="A",
            url="https://a.example/x",
            provider="google",
            quotes=["Two."],
        )
    ]


def test_d14_a_marker_goes_into_the_part_it_was_measured_in() -> None:
    parts = ["第一段说的是门票。", "第二段说的是时间。"]
    metadata = {
        "groundingChunks": [chunk("a"), chunk("b")],
        "groundingSupports": [
            support("说的是时间。", parts[1], 1, part=1),
            support("第一段说的是门票。", parts[0], 0),
        ],
    }
    assert marked(parts, metadata) == ("第一段说的是门票。[^w0-0]\n\n第二段说的是时间。[^w0-1]")


def test_a_passage_is_found_by_its_words_when_parts_were_dropped_or_merged() -> None:
    metadata = {
        "groundingChunks": [chunk("a")],
        "groundingSupports": [support("It opens at nine.", "It opens at nine.", 0, part=4)],
    }
    text = "Thinking came first. It opens at nine. It closes at five."
    assert marked([text], metadata) == (
        "Thinking came first. It opens at nine.[^w0-0] It closes at five."
    )


def test_the_nearest_occurrence_of_repeated_words_is_taken() -> None:
    text = "是的。中间的话很长很长。是的。"
    supports = [Support(text="是的。", start=40, end=49, part=0, chunks=(0,))]
    assert insert_citation_markers([text], supports, {0: "w0-0"}) == text + "[^w0-0]"
    supports = [Support(text="是的。", start=3, end=9, part=0, chunks=(0,))]
    assert insert_citation_markers([text], supports, {0: "w0-0"}).startswith("是的。[^w0-0]中")


def test_f8_a_list_of_sources_that_a_search_reply_ends_with_is_dropped() -> None:
    reply = "甲在东边。\n\n来源：\n1. a.example\n2. b.example"
    metadata = {
        "groundingChunks": [chunk("a")],
        "groundingSupports": [support("甲在东边。", reply, 0)],
    }
    assert marked([reply], metadata) == "甲在东边。[^w0-0]"


def test_a_passage_that_is_nowhere_is_cited_at_the_end_of_its_paragraph() -> None:
    text = "First paragraph here.\n\nSecond one."
    supports = [Support(text="Not in the text", start=2, end=12, part=0, chunks=(0,))]
    assert insert_citation_markers([text], supports, {0: "w0-0"}) == (
        "First paragraph here.[^w0-0]\n\nSecond one."
    )


def test_no_character_and_no_url_is_split() -> None:
    text = "见 https://a.example/long/path. 好"
    for end in range(1, 60):
        supports = [Support(text="", start=0, end=end, part=0, chunks=(0,))]
        out = insert_citation_markers([text], supports, {0: "w0-0"})
        assert "https://a.example/long/path" in out
        assert "\ufffd" not in out
        assert out.replace("[^w0-0]", "") == text


D15 = {
    "no metadata": None,
    "empty": {},
    "queries only": {"webSearchQueries": ["x"], "searchEntryPoint": {"renderedContent": "h"}},
    "chunks None": {"groundingChunks": None, "groundingSupports": [support("A", "A", 0)]},
    "supports None": {"groundingChunks": [chunk("a")], "groundingSupports": None},
    "chunk None": {"groundingChunks": [None], "groundingSupports": [support("A", "A", 0)]},
    "web None": {"groundingChunks": [{"web": None}], "groundingSupports": [support("A", "A", 0)]},
    "no segment": {
        "groundingChunks": [{"web": None}],
        "groundingSupports": [{"segment": None, "groundingChunkIndices": [0]}],
    },
    "indices None": {
        "groundingChunks": [chunk("a")],
        "groundingSupports": [{"segment": {"text": "A"}, "groundingChunkIndices": None}],
    },
    "indices out of range": {
        "groundingChunks": [chunk("a")],
        "groundingSupports": [support("A", "A", 7, 99)],
    },
}


@pytest.mark.parametrize("shape", D15)
def test_d15_every_missing_shape_leaves_the_text_whole(shape: str) -> None:
    assert marked(["A b."], D15[shape]) == "A b."
    assert marked([], D15[shape]) == ""
    assert marked(["", ""], D15[shape]) == ""


def test_d15_a_maps_chunk_is_a_place_that_can_be_cited() -> None:
    metadata = {
        "groundingChunks": [{"maps": {"uri": "https://maps.google.com/?cid=1", "title": "Cafe"}}],
        "groundingSupports": [support("A", "A b.", 0)],
    }
    result = ground(["A b."], metadata, prefix="w0", provider="google")
    assert result.text == "A[^w0-0] b."
    assert result.sources[0]["kind"] == "place"


@by_examples
def test_d16_the_title_is_kept_as_it_is_and_never_loses_the_citation(title: Any, kept: str) -> None:
    metadata = {
        "groundingChunks": [chunk("a", title)],
        "groundingSupports": [support("A.", "A.", 0)],
    }
    result = ground(["A."], metadata, prefix="w0", provider="google")
    assert result.sources[0]["title"] == kept
    assert result.text == "A.[^w0-0]"


def test_two_chunks_with_one_url_are_one_source_and_unused_sources_stay() -> None:
    metadata = {
        "groundingChunks": [chunk("a"), chunk("a"), chunk("b")],
        "groundingSupports": [support("A.", "A.", 1, 0)],
    }
    result = ground(["A."], metadata, prefix="w0", provider="google")
    assert result.text == "A.[^w0-0]"
    assert [source["id"] for source in result.sources] == ["w0-0", "w0-2"]
    assert result.sources[1]["quotes"] == []


@pytest.mark.parametrize("uri", ["javascript:alert(1)", "ftp://x", "https://", "http://[", None, 3])
def test_a_chunk_without_a_web_address_is_no_source(uri: Any) -> None:
    metadata = {"groundingChunks": [{"web": {"uri": uri, "title": "t"}}]}
    assert ground(["A"], metadata, prefix="w0", provider="google").sources == []


def test_s7_markers_the_text_brought_along_are_forgeries_and_go() -> None:
    assert marked(["A[^w9-9] b[^a0-0]."], None) == "A b."


def test_a_lone_surrogate_is_survived() -> None:
    metadata = {
        "groundingChunks": [chunk("a\ud800", "t\ud800")],
        "groundingSupports": [support("b", "a b", 0)],
    }
    result = ground(["a\ud800 b"], metadata, prefix="w0", provider="google")
    result.text.encode()
    result.sources[0]["url"].encode()
    assert "[^w0-0]" in result.text


def garbage(pick: random.Random, depth: int = 0) -> Any:
    keys = [
        *("groundingChunks", "grounding_chunks", "groundingSupports", "grounding_supports"),
        *("web", "maps", "uri", "title", "segment", "text", "startIndex", "endIndex"),
        *("part_index", "groundingChunkIndices", "webSearchQueries", "searchEntryPoint"),
    ]
    kind = pick.randrange(9 if depth < 5 else 6)
    if kind < 6:
        options = [None, True, -3, 2, 10**30, 1.5, 3.0, float("nan"), "", "3", "好b", "\ud800", {}]
        return pick.choice([*options, "https://e.example/1", b"x", [], ()])
    if kind == 6:
        return [garbage(pick, depth + 1) for _ in range(pick.randrange(4))]
    return {pick.choice(keys): garbage(pick, depth + 1) for _ in range(pick.randrange(8))}


def test_random_garbage_never_raises_and_never_loses_text() -> None:
    pick = random.Random(11)
    parts = ["好b https://e.example/1 text. ", "Second 部分。"]
    for _ in range(4000):
        metadata: Any = garbage(pick)
        if isinstance(metadata, dict):
            metadata["groundingChunks"] = [chunk("a"), garbage(pick), chunk("b")]
            metadata["groundingSupports"] = [
                {"segment": garbage(pick, 3), "groundingChunkIndices": [0, 1, 2, garbage(pick)]},
                garbage(pick),
            ]
        out = marked(parts, metadata)
        plain = out.replace("[^w0-0]", "").replace("[^w0-1]", "").replace("[^w0-2]", "")
        assert plain == "".join(parts)


def test_odd_parts_never_raise() -> None:
    odd: Any = [None, "a", 3]
    assert marked(odd, None) == "a"
    nothing: Any = None
    assert marked(nothing, None) == ""


def test_get_citations_reads_only_what_is_usable() -> None:
    metadata = {
        "groundingSupports": [
            support("A", "A", 0, 0, 2),
            {"segment": {"text": "B"}, "groundingChunkIndices": []},
            "junk",
        ]
    }
    assert get_citations(metadata) == [Support(text="A", start=0, end=1, part=0, chunks=(0, 2))]


@by_examples
def test_a_sentence_that_something_was_not_found_is_known_as_one(text: str) -> None:
    assert says_not_found(text)


@by_examples
def test_a_claim_is_not_taken_for_a_remark_that_nothing_was_found(text: str) -> None:
    assert not says_not_found(text)


def test_a_sentence_without_a_source_among_sourced_ones_is_no_finding() -> None:
    marked = (
        "## 门票\n西湖免费。[^w0-0]夏季8:00至20:00，冬季8:00至17:30。没有查到游船票价。[^none]\n\n"
        "- **雷峰塔**：40元[^w0-1]\n- 断桥很有名。\n以下：\nDr. Smith left. He was 40.[^w0-0]"
    )
    sources = [
        {"id": "w0-0", "quotes": ["西湖免费。", "Dr. Smith left. He was 40."]},
        {"id": "w0-1", "quotes": ["40元"]},
    ]
    assert without_unsupported(marked, cast(list[Source], sources)) == (
        "## 门票\n西湖免费。[^w0-0]没有查到游船票价。[^none]\n\n"
        "- **雷峰塔**：40元[^w0-1]\n\n以下：\nDr. Smith left. He was 40.[^w0-0]"
    )
