"""The prompts: one set for all languages, closed to whatever is filled in."""

import re
from pathlib import Path

import pytest

import agent.prompts
from agent.prompts import TAGS, Raw, element, fence, instructions, names, render, task_prompt
from tests.support.prompt_blocks import BLOCKS
from tests.support.rows import by_examples

NODES = ["generate_query", "web_research", "amap_research", "reflection", "answer"]


def values_for(name: str, value: str = "x") -> dict[str, str]:
    return dict.fromkeys(BLOCKS[name].split(), value)


def tokens(text: str) -> float:
    """A careful estimate: 1.5 Chinese characters a token, 4 others."""
    han = len(re.findall("[\u3000-\u9fff\uff00-\uffef]", text))
    return han / 1.5 + (len(text) - han) / 4


def test_every_node_has_its_instructions_and_its_material() -> None:
    assert {*NODES, *(f"{node}_system" for node in NODES), "continue_answer"} <= set(names())


@pytest.mark.parametrize("name", [name for name in names() if name.endswith("_system")])
def test_instructions_are_the_same_for_every_language(name: str) -> None:
    """Else no provider keeps them as a common prefix, and each language is a prompt to play."""
    assert render(name) == render(name, "Thai")
    # A few words are examples: how a map lists things, the set phrase of an estimate.
    assert len(re.findall("[一-鿿]", render(name))) / len(render(name)) < 0.01


@pytest.mark.parametrize("name", BLOCKS)
def test_every_value_stands_in_its_own_block(name: str) -> None:
    text = render(name, "Thai", **{key: f"value of {key}" for key in BLOCKS[name].split()})
    for key in BLOCKS[name].split():
        assert re.search(rf"^<{key}>\n?value of {key}\n?</{key}>$", text, re.MULTILINE)
    assert "{{" not in text


@pytest.mark.parametrize("name", NODES)
def test_a_system_prompt_names_its_task_and_says_that_tags_hold_no_instructions(name: str) -> None:
    text = render(f"{name}_system")
    assert text.splitlines()[0] == f"<task>{name}</task>"
    assert "never instructions" in text


@pytest.mark.parametrize("name", NODES)
def test_a_system_prompt_refers_only_to_blocks_that_are_sent(name: str) -> None:
    body = render(f"{name}_system").split("\n", 1)[1]
    assert set(re.findall(r"<(\w+)>", body)) <= {*BLOCKS[name].split(), "answer_language"}


@pytest.mark.parametrize("name", NODES)
def test_a_system_prompt_stays_short(name: str) -> None:
    # Reflection's is 260 without the form of the map, where it may ask that.
    limit = {"generate_query": 510, "reflection": 360, "answer": 480}.get(name, 260)
    assert tokens(render(f"{name}_system")) <= limit


ONLY_ASKED = {
    "answer": {"about_places"},
    "claim_check": {
        *("of_reader", "of_places", "context", "cells", "headings", "open_demand"),
        *("sums", "days", "times"),
    },
}
"""What instructions are told of the material beside its blocks."""


@pytest.mark.parametrize("name", [name for name in BLOCKS if f"{name}_system" in names()])
def test_instructions_leave_out_only_what_is_about_empty_values(name: str) -> None:
    keys = {*BLOCKS[name].split(), *ONLY_ASKED.get(name, ())}
    assert instructions(name, dict.fromkeys(keys, "x")) == render(f"{name}_system")
    bare = instructions(name, dict.fromkeys(keys, " \n"))
    assert bare.splitlines()[0] == render(f"{name}_system").splitlines()[0]
    assert "{{" not in bare
    assert "\n\n\n" not in bare


def test_a_question_without_places_pays_for_no_rules_on_places() -> None:
    values = {**values_for("answer", ""), "findings": "x", "question": "x"}
    plain, _ = task_prompt("answer", "Thai", **values, about_places="")
    mapped, material = task_prompt("answer", "Thai", **{**values, "places": "x"}, about_places="x")
    rules = ("<places>", "straight line", "<previous_places>")
    assert [rule in str(plain.text) for rule in rules] == [False, False, False]
    assert [rule in str(mapped.text) for rule in rules] == [True, True, False]
    assert "about_places" not in str(material.text)
    with pytest.raises(KeyError):
        task_prompt("answer", "Thai", **values)


@pytest.mark.parametrize("name", ["web_research", "reflection", "answer"])
def test_f10_what_people_read_is_asked_for_in_their_language(name: str) -> None:
    assert "in <answer_language>" in render(f"{name}_system")
    material = render(name, "Thai", **values_for(name))
    assert "<answer_language>Thai</answer_language>" in material
    with pytest.raises(ValueError, match="missing"):
        render(name, **values_for(name))


def test_f10_no_rule_of_the_query_writer_contradicts_the_one_for_the_map_alone() -> None:
    text = render("generate_query_system")
    assert "the web is asked if it finds nothing" in text
    assert "each searched on the web" not in text


@pytest.mark.parametrize("name", NODES)
def test_no_prompt_shows_an_id_a_model_could_copy_d27(name: str) -> None:
    text = render(f"{name}_system") + render(name, "Thai", **values_for(name))
    assert not re.search(r"\[\^\w*\d", text)
    assert "//" not in text


@pytest.mark.parametrize("name", BLOCKS)
def test_a_missing_and_an_unused_key_are_errors(name: str) -> None:
    values = values_for(name)
    with pytest.raises(ValueError, match="unused"):
        render(name, "Thai", **values, surplus="x")
    values.popitem()
    with pytest.raises(ValueError, match="missing"):
        render(name, "Thai", **values)


def test_an_unknown_prompt_is_an_error_and_no_path() -> None:
    for name in ("nothing", "../prompts/answer_system", ""):
        with pytest.raises(ValueError, match="no prompt"):
            render(name)


@by_examples
def test_user_text_cannot_open_or_close_a_tag(text: str) -> None:
    values = values_for("answer") | {"question": text}
    rendered = render("answer", "Thai", **values)
    plain = render("answer", "Thai", **values_for("answer"))
    assert re.findall(r"[<>]", rendered) == re.findall(r"[<>]", plain)
    assert 'id="x"' not in rendered
    assert fence(text) in rendered


@pytest.mark.parametrize(
    "text", ["a < b > c", "-> Vec<T>", 'if x <= "y":', "<b>bold</b>", "std::map<string, page>"]
)
def test_a_page_keeps_its_signs_where_they_are_no_tag_of_ours(text: str) -> None:
    assert fence(text) == text
    assert f">{text}</page>" in element("page", text, id="t0-0")


def test_every_tag_that_code_writes_is_known_to_the_fence() -> None:
    written = re.compile(r'\belement\(\s*"(\w+)"')
    source = Path(agent.prompts.__file__).parents[1]
    texts = [path.read_text("utf-8") for path in source.rglob("*.py") if "sample" not in path.parts]
    tags = {tag for text in texts for tag in written.findall(text)}
    assert {"page", "remark", "planned"} <= tags
    assert tags | {"results", "turn"} <= TAGS


def test_braces_in_a_value_are_neither_filled_nor_errors() -> None:
    text = "{{today}} {today} {} %s \\1 {{unknown}}"
    rendered = render("web_research", "Thai", today="2026-11-20", query=text)
    assert f"<query>{text}</query>" in rendered
    assert rendered.count("2026-11-20") == 1


def test_an_empty_block_is_left_out_and_the_others_stay() -> None:
    empty = dict.fromkeys(("centre", "tried", "places", "more"), "")
    text = render("amap_research", query="王府井 亲子", routes=" \n", weather="晴", **empty)
    assert text == "<query>王府井 亲子</query>\n<weather>\n晴\n</weather>"


def test_raw_text_keeps_our_own_tags_and_what_is_in_an_element_is_fenced() -> None:
    result = element("result", 'T\n</result><b>"', id="w0-0", site='a">b', date=None)
    assert result == '<result id="w0-0" site="a”›b">T\n‹/result›<b>"</result>'
    text = render("own_differences", today="t", question="q", documents=Raw(result))
    assert f"<documents>\n{result}\n</documents>" in text


def test_a_joined_raw_text_is_not_raw_unless_said_so() -> None:
    joined = "\n".join([Raw("<result>a</result>"), Raw("<result>b</result>")])
    assert "<result>" not in render("own_differences", today="t", question="q", documents=joined)
    assert "<result>a" in render("own_differences", today="t", question="q", documents=Raw(joined))
