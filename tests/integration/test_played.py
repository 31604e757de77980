"""Conversations played by hand, replayed through the real graph: what reaches the reader.

Needs the map's npm server. What is checked does not depend on a prompt's text.
"""

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent.batch.jobs import BatchTarget, Finished, JobAttempt, attempt_result
from agent.batch.questions import Question
from agent.cli.render import print_outcome
from agent.client.run_result import RunName, outcome_of
from agent.evidence.mentions import mentioned, without_origins
from agent.evidence.notation import is_marked
from agent.export.html import html_page
from agent.export.markdown import markdown_document
from agent.graph import build_graph
from agent.texts import detect_language, say
from tests.support.lab import Lab, answer_of, laboratory, told, with_clock
from tests.support.played import LINK, NOISE, Conversation, PlayedModel, conversations

pytestmark = pytest.mark.node
CONVERSATIONS = conversations()
TURNS = [(c.name, turn) for c in CONVERSATIONS for turn in range(len(c.questions))]
LISTED = re.compile(r"^(?:\d+\.|-) +\**([^*：:\n]+?)\**(?:（[^）]*）)?(?:[：:]|$)", re.MULTILINE)
OWN_NOISE = {
    **NOISE,
    "a code": re.compile(r"\bbudget_\w+|\bno_results\b|\bungrounded\b|[{}]"),
}


@dataclass
class Replay:
    """What a conversation came to: the state after each turn, and where its replies ran out."""

    conversation: Conversation
    states: list[dict[str, Any]]
    unknown: list[str]
    lost: list[str]
    tokens: int
    judge_tokens: int

    def text(self, turn: int) -> str:
        return str(answer_of(self.states[turn]).text)

    def own(self, turn: int) -> str:
        """Return the answer without its list of sources."""
        return self.text(turn).split(say("answer.sources", self.conversation.language))[0]  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def replays() -> dict[str, Replay]:
    """Return every conversation's replay, all over one deployment."""
    return asyncio.run(_replay_all())


async def _replay_all() -> dict[str, Replay]:
    async with laboratory() as lab:
        return {c.name: await _replay(lab, c) for c in CONVERSATIONS}


async def _replay(lab: Lab, conversation: Conversation) -> Replay:
    services = with_clock(lab.services, lambda: conversation.now)
    graph = build_graph(lambda: services).compile(checkpointer=InMemorySaver())
    lab.gemini.llm = model = PlayedModel(conversation)
    states = []
    for turn, question in enumerate(conversation.questions):
        model.turn = turn
        context = {"web_search": "google"}
        states.append(await Lab(services, graph).ask(question, context=context))
    return Replay(conversation, states, model.unknown, model.lost, model.tokens, model.judge_tokens)


@pytest.fixture(params=TURNS, ids=lambda param: f"{param[0]}-{param[1]}")
def turn(request: pytest.FixtureRequest, replays: dict[str, Replay]) -> tuple[Replay, int]:
    name, number = request.param
    test = request.node.originalname
    if reason := replays[name].conversation.faults.get(f"{test} {number}"):
        request.node.add_marker(pytest.mark.xfail(strict=True, reason=reason))
    return replays[name], number


Turn = tuple[Replay, int]


def test_the_reader_gets_a_text_without_markers_ids_tools_settings_and_codes(turn: Turn) -> None:
    replay, number = turn
    own = LINK.sub("", replay.own(number))
    assert len(own) > 20
    assert {name: hit[0] for name, noise in OWN_NOISE.items() if (hit := noise.search(own))} == {}


def test_the_readme_shows_one_of_these_answers_as_it_is(replays: dict[str, Replay]) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    quoted = "\n".join(re.findall(r"^> ?(.*)$", readme, re.MULTILINE))
    replay = replays["en-towers"]
    _, answer = replay.own(0).split("\n\n", 1)
    assert f"**{replay.conversation.questions[0]}**\n\n{answer.strip()}" in quoted


def test_every_link_is_a_sources_and_has_its_number(turn: Turn) -> None:
    replay, number = turn
    state = replay.states[number]
    sources = {source["url"]: source["number"] for source in told(state)["sources"]}
    links = [(url, int(shown)) for shown, url in LINK.findall(replay.own(number))]
    citable = state["sources_gathered"] or state["previous"]["sources"]
    assert links or not citable or told(state)["needs"]
    assert {url: shown for url, shown in links if sources.get(url) != shown} == {}


def test_a_place_is_cited_only_in_a_line_that_names_it(turn: Turn) -> None:
    replay, number = turn
    kept = told(replay.states[number])
    cited = {source["url"]: source["id"] for source in kept["sources"]}
    by_source = {place["source"]: place for place in kept["places"]}
    swapped = []
    for line in replay.own(number).splitlines():
        of_line = mentioned(kept["places"], without_origins(line))
        for sentence in re.split(r"(?<=[。；])", line):
            # A line about several places says in each sentence which of them it is about.
            named = (
                of_line
                if len(of_line) == 1
                else mentioned(kept["places"], without_origins(sentence))
            )
            for _, url in LINK.findall(sentence):
                place = by_source.get(cited.get(url, ""))
                if place and named and not (place["id"] in named or place["name"] in line):
                    swapped.append((place["name"], sentence))
    assert swapped == []


def test_the_answer_is_in_the_language_of_the_question(turn: Turn) -> None:
    replay, number = turn
    assert detect_language(LINK.sub("", replay.own(number))) == replay.conversation.language


def test_at_most_one_line_says_what_is_missing_and_none_that_the_map_was_cut_short(
    turn: Turn,
) -> None:
    replay, number = turn
    kept = told(replay.states[number])
    begins = ("*另：", "*Note:")
    assert sum(line.startswith(begins) for line in replay.own(number).splitlines()) <= 1
    if kept["places"]:
        assert "budget_max_map_calls" not in {gap["code"] for gap in kept["gaps"]}


def test_the_second_one_is_the_second_that_the_last_answer_lists(
    replays: dict[str, Replay],
) -> None:
    chains = [
        (replay, turn)
        for replay in replays.values()
        for turn, question in enumerate(replay.conversation.questions)
        if "第二个" in question
    ]
    assert chains
    for replay, turn in chains:
        second = LISTED.findall(replay.own(turn - 1))[1]
        assert second in replay.states[turn]["turn"]["question"]
        assert {anchor["name"] for anchor in replay.states[turn]["anchors"]} == {second}


def expectations() -> list[Any]:
    params = []
    for conversation in CONVERSATIONS:
        for number, expect in enumerate(conversation.expectations()):
            reason = expect.get("xfail")
            marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
            name = f"{conversation.name}-{number}-{expect['is']}"
            params.append(pytest.param(conversation.name, expect, marks=marks, id=name))
    return params


@pytest.mark.parametrize(("name", "expect"), expectations())
def test_what_no_evidence_bears_is_marked_or_gone_and_what_it_bears_is_kept(
    replays: dict[str, Replay], name: str, expect: dict[str, Any]
) -> None:
    replay, turn = replays[name], expect["turn"]
    assert fate(replay.own(turn), expect["words"]) in expect["is"].split("|"), replay.own(turn)


def test_state_terminal_batch_row_and_exports_hold_the_corrected_text(
    replays: dict[str, Replay], capsys: pytest.CaptureFixture[str]
) -> None:
    values = replays["en-coffee"].states[0]
    outcome = outcome_of(values, RunName("agent", "thread", "run"), 1.0)
    print_outcome(outcome, follow_up="")
    job = JobAttempt(Question("1", outcome.question, 1), 1, "thread", "run", "message")
    done = attempt_result(
        job, Finished(values, 1.0), BatchTarget(Path("answers.jsonl"), "agent", "c"), models={}
    )
    finished = outcome.finished()
    shown = {
        "state": replays["en-coffee"].text(0),
        "terminal": capsys.readouterr().out.split("\n## ")[0],
        "batch row": done.row["answer"],
        "json": outcome.as_json()["answer"],
        "markdown": markdown_document(finished).split("\n## ")[0],
        "html": html_page(finished).split('<section class="checked">')[0],
    }
    for name, text in shown.items():
        assert "★4.5, 524 m" in text, name
        assert not re.search("★ ?4.7", text), name
    [reworded] = [row for row in finished.statements if row["verdict"] == "revised"]
    assert "★4.5, 524 m" in finished.answer[reworded["start"] : reworded["end"]]
    # The words that decide stand beside it where a judge named them; a map's row never does.
    assert reworded["quote"] not in re.sub(r"</?span[^>]*>", "", html_page(finished))
    is_quoted = say("export.checked.revised", "en", quote="").rstrip("”") in markdown_document(
        finished
    )
    assert is_quoted == bool(reworded.get("says"))


def fate(text: str, words: str) -> str:
    """Return what became of words: "gone", "marked" by a sign that follows them, or "kept"."""
    bare = LINK.sub("", text)
    at = bare.find(words)
    if at < 0:
        return "gone"
    rest = re.split(r"\n| \| |(?<=[。！？])(?![†‡])|(?<=\.)\s", bare[at + len(words) :])[0]
    return "marked" if is_marked(rest) else "kept"


_OUT_OF_REACH = {"麦当劳(三里屯店)", "一坐一忘(三里屯店)"}
"""Nearer places are looked up since a shop that is called by its quarter is no quarter."""


def test_a_reply_was_played_to_nearly_every_request(replays: dict[str, Replay]) -> None:
    """Whoever changes what is asked for in which order plays these conversations again."""
    for replay in replays.values():
        asked = [request for request in replay.unknown if not request.startswith("claim_check")]
        assert asked == [], replay.conversation.name
        assert {*replay.lost} <= _OUT_OF_REACH, replay.conversation.name


def test_an_answer_costs_less_than_5600_tokens_in_and_9_calls_on_average_with_its_judge(
    replays: dict[str, Replay],
) -> None:
    usage = [told(s)["usage"] for r in replays.values() for s in r.states if not told(s)["needs"]]
    # 4,500 by the estimate of before, which was a fifth too low for Chinese and for records; and
    # the query's instructions now have all demands, the answer's explain each input. 300 more are
    # answers that were begun early and asked for again, which spares a reader the wait for a
    # verdict.
    assert sum(replay.tokens for replay in replays.values()) / len(usage) <= 5600
    judge = sum(replay.judge_tokens for replay in replays.values())
    # 23.6 % of all, of which a quarter was wanted at most; what fails is said anew in every second
    # reply here, an eighth of it.
    assert judge / len(usage) <= 1750
    assert sum(one["model_calls"] for one in usage) / len(usage) <= 9
