"""What a question, an answer, a page or a map says in 100,000 equal signs is read to its end.

Each of these once took the square or the cube of its length, minutes to hours, in which a server
answers nobody. Where one does so again, it is ended here; `benchmarks.growth` measures all.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, cast

import pytest

from agent.assistants.team_answer.answer_form import presentable, same_answer
from agent.assistants.team_answer.speakers import updated_hypotheses
from agent.batch.scoring import is_correct
from agent.core.patterns import PIECE, piece
from agent.core.strings import is_table_rule
from agent.evidence.claims.judging import passages_block, statements_block
from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.proof import proved
from agent.evidence.claims.statements import statements
from agent.evidence.figures import figures
from agent.evidence.formulas import value_of
from agent.evidence.geo import parse_lnglat
from agent.evidence.hours import weekly_hours
from agent.evidence.intent import detect_location_query
from agent.evidence.mentions import mentioned
from agent.evidence.notation import MARKED
from agent.evidence.places import place_and_city, place_before_near, route_ends, shaped_place
from agent.evidence.queries import same_search
from agent.evidence.revision import faults_block
from agent.evidence.types import Place
from agent.export.bullet_names import named_part
from agent.export.said_facts import facts_said, is_of_facts
from agent.export.svg_map import wrap
from agent.knowledge.markup import front_title, markdown_blocks
from agent.mcp.amap.records import english_name
from agent.models.validation import find_object
from agent.models.wrapping import OuterFence
from agent.sample.model.minimum import nearest_sentences, source_sentences
from agent.sandbox.programs import fenced_program
from agent.search.hits import only_known
from agent.search.rules import published_on
from tests.unit import export_samples

pytestmark = pytest.mark.slow

SIGNS = 100_000


def checked(text: str) -> Any:
    found = statements(text, MARKED)
    evidence = Evidence({"w0-0": Record([text])}, question="x")
    passages_block(found[:12], evidence)
    statements_block(found[:12], evidence, MARKED)
    return proved(found, {}, evidence)


def named(text: str) -> Any:
    place = {"id": "a", "name": f"甲{text}乙", "source": "a0-0"}
    return mentioned([cast(Place, place)], "甲")


def split(text: str) -> Any:
    return statements(text, MARKED)


def blocks(text: str) -> Any:
    return list(markdown_blocks(text))


def object_of(text: str) -> Any:
    with pytest.raises(ValueError, match="JSON"):
        find_object(text)


def told(text: str) -> Any:
    named = named_part(f"儿童乐园（{text}", SAMPLE, (0, 4))
    return named, facts_said(text, SAMPLE, "zh"), is_of_facts(text, ["★ 4.6"])


SAMPLE = export_samples.place()


def accused(text: str) -> Any:
    found = statements(text, MARKED)
    outcomes = [Outcome("missing", (one.plain,)) for one in found]
    return faults_block(found, outcomes, {}, Evidence({"w0-0": Record(["x"])}))


CASES: list[tuple[Callable[[str], Any], str, str]] = [
    (detect_location_query, "", " "),
    (place_and_city, "", "1"),
    (place_and_city, "", "\u3000"),
    (place_before_near, "故宫", " "),
    (route_ends, "从a", " "),
    (route_ends, "from a", " "),
    (shaped_place, "", "路"),
    (weekly_hours, "", "("),
    (parse_lnglat, "", " "),
    (lambda text: same_search(text, "x"), "", "("),
    (named, "", " "),
    (is_table_rule, "|", "-"),
    (checked, "|x", "-"),
    (checked, "", "1"),
    (split, "", "a. "),
    (split, "", "Mr. "),
    (told, "", "1"),
    (told, "", " "),
    (told, "", "¥1"),
    (accused, "", "- 370元\n"),
    (figures, "", "12,"),
    (figures, "", "1.234"),
    (value_of, "", "1"),
    (value_of, "", "("),
    (lambda text: nearest_sentences(source_sentences(text), text, 3), "which of ", "1-"),
    (lambda text: only_known(text, ()), "", "\t"),
    (lambda text: published_on(text, "2026-05-01"), "", "1"),
    (lambda text: same_answer(text, text + "2"), "", "1-"),
    (presentable, "", "\u3000"),
    (lambda text: is_correct(text, "1", "answered"), "", "1"),
    (lambda text: updated_hypotheses(text, []), "H1 [0.5", " "),
    (lambda text: wrap(text, 180), "", "a "),
    (lambda text: english_name({"alias": text + "中"}), "", "a"),
    (object_of, "```json", " "),
    (object_of, '{"', '\\"'),
    (blocks, "", "<!--"),
    (blocks, "", "<table>"),
    (blocks, "# a", " b"),
    (front_title, "---\n", "\n"),
]  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("read", "begin", "sign"), CASES, ids=[f"{n}: {b}{s!r}" for n, (_, b, s) in enumerate(CASES)]
)
def test_a_long_run_of_signs_is_read_to_its_end(
    read: Callable[[str], Any], begin: str, sign: str
) -> None:
    read(begin + sign * (SIGNS // len(sign)) + "x")


@pytest.mark.parametrize("mark", ["```", "~~~"])
def test_a_fence_that_a_sign_at_its_end_makes_none_is_read_to_its_end(mark: str) -> None:
    line = f"{mark}python{chr(9) * SIGNS}`"
    assert "python" in fenced_program(line)
    fence = OuterFence()
    assert fence.feed(f"{line}\nend") + fence.finish() == f"{line}\nend"


def test_rules_read_a_piece_in_which_one_blank_stands_for_several() -> None:
    assert piece("去  故宫\u3000\u3000附近") == "去 故宫\u3000附近"
    assert len(piece("故" * 3 * PIECE)) == PIECE


def test_what_a_long_question_asks_first_is_asked() -> None:
    asked = "人均 80 元以内，故宫附近的餐厅。" + "请详细说明。" * 3000
    assert place_and_city(asked) == ("故宫", None)


def test_long_queries_are_one_search_only_where_they_are_equal() -> None:
    long = "故宫 " * PIECE
    assert same_search(long, long)
    assert not same_search(long, long + "门票")


def test_a_day_is_not_counted_back_by_a_number_that_no_age_has() -> None:
    assert published_on("1234567 days ago", "2026-05-01") is None
    assert published_on("3 days ago", "2026-05-01") == datetime(2026, 4, 28).date()
    assert published_on("Model 2024 - 5. 10 tips", "2026-05-01") is None
