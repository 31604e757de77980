"""The three speakers by the offline rules, over hand-made turns."""

import pytest

from agent.offline.brain import Answer, FunctionCall, Past, Tool, ToolResult, Turn
from agent.offline.rules import SampleBrain
from agent.prompts import element, render

QUESTION = "青石桥比白沙桥长多少米？"
NAMES = ("search_google", "search_bocha", "run_code", "maps_geo", "maps_text_search")
TOOLS = tuple(Tool(name) for name in NAMES)
PAGE = "青石桥全长1453米，1937年通车。白沙桥全长1200米，2008年通车。"


def results(name: str, text: str) -> str:
    shown = element("result", text, id=f"{name}-0", title="几座桥")
    return f'<results id="{name}" tool="search_bocha">\n{shown}\n</results>'


def note(tool: str, evidence: str, asked: str, text: str) -> str:
    return element("tool", text, name=tool, evidence=evidence, asked=asked)


SEARCHED = note("search_bocha", "s0", "青石桥 长", results("s0", PAGE))
COMPUTED = note("run_code", "c0", "print(253)", '<output id="c0">253</output>')


def tagged(blocks: dict[str, str]) -> str:
    """A prompt of these blocks, as the rules read it."""
    return "\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in blocks.items() if text)


def speak(
    speaker: str,
    transcript: str = "",
    *,
    question: str = QUESTION,
    hypotheses: str = "",
    told: tuple[tuple[FunctionCall, str], ...] = (),
    tools: tuple[Tool, ...] = TOOLS,
) -> Answer:
    blocks = {"question": question, "hypotheses": hypotheses, "transcript": transcript}
    turn = Turn(
        render(f"team_{speaker}_system", "zh"),
        tagged(blocks | {"rounds_left": "18"}),
        history=tuple(Past("model", "", (call,)) for call, _ in told),
        tools=tools,
        tool_results=tuple(ToolResult(call.name, text) for call, text in told),
    )
    return SampleBrain().respond(turn)


def turn_of(speaker: str, said: str, *notes: str) -> str:
    return "\n".join([f'<turn round="1" speaker="{speaker}">', said, *notes, "</turn>"])


def test_the_researcher_searches_for_every_figure_at_once() -> None:
    calls = speak("researcher").calls
    assert [call.name for call in calls] == ["search_bocha", "search_bocha"]
    assert ["青石桥" in calls[0].args["query"], "白沙桥" in calls[1].args["query"]] == [True, True]


def test_the_researcher_says_what_the_pages_say_with_their_ids() -> None:
    told = ((FunctionCall("search_bocha", {"query": "青石桥 长"}), results("s0", PAGE)),)
    said = speak("researcher", told=told)
    assert not said.calls
    assert "1453米" in str(said.text)
    assert "[^s0-0]" in str(said.text)


def test_without_tools_the_researcher_says_what_is_missing() -> None:
    said = speak("researcher", tools=())
    assert "没有查到" in str(said.text)


def test_the_analyst_has_a_program_compute() -> None:
    [call] = speak("analyst", turn_of("researcher", "查到", SEARCHED)).calls
    assert call.name == "run_code"
    assert 'Decimal("1453")' in call.args["code"]
    assert 'Decimal("1200")' in call.args["code"]


def test_the_analyst_takes_the_result_of_the_program_as_hypothesis() -> None:
    told = ((FunctionCall("run_code", {"code": "print(253)"}), '<output id="c0">253</output>'),)
    said = speak("analyst", turn_of("researcher", "查到", SEARCHED), told=told)
    assert "H1 [0.9] 253 — " in str(said.text)
    assert "[^s0-0]" in str(said.text)


def test_where_a_program_failed_the_analyst_supports_nothing() -> None:
    told = ((FunctionCall("run_code", {"code": "1/0"}), "ZeroDivisionError: division by zero"),)
    said = speak("analyst", turn_of("researcher", "查到", SEARCHED), told=told)
    assert str(said.text).startswith("H1 [0.05]")


def test_the_verifier_recomputes_and_searches_in_other_words() -> None:
    calls = speak("verifier", turn_of("researcher", "查到", SEARCHED),
                  hypotheses="H1 [0.9] 253 — 青石桥全长1453米[^s0-0]").calls  # fmt: skip
    assert {call.name for call in calls} == {"run_code", "search_google"}
    assert 'Fraction("1453")' in next(c for c in calls if c.name == "run_code").args["code"]


@pytest.mark.parametrize(
    ("output", "verdict", "ends"), [("253", "AGREE", True), ("252", "DISAGREE", False)]
)
def test_the_verifier_agrees_only_with_what_comes_out_again(
    output: str, verdict: str, ends: bool
) -> None:
    told = ((FunctionCall("run_code", {"code": "x"}), f'<output id="c1">{output}</output>'),)
    said = str(
        speak(
            "verifier",
            turn_of("researcher", "查到", SEARCHED),
            hypotheses="H1 [0.9] 253 — 青石桥全长1453米[^s0-0]",
            told=told,
        ).text
    )
    assert f"VERDICT: {verdict}" in said
    assert said.endswith("TERMINATE") is ends


def test_with_nothing_found_the_verifier_searches_and_then_leaves_it_open() -> None:
    asked = "黑石桥是谁设计的？"
    before = turn_of("researcher", "没有查到", note("search_bocha", "s0", "黑石桥 设计", "无"))
    assert speak("verifier", before, question=asked).calls
    told = tuple(
        (FunctionCall(name, {"query": query}), "没有找到结果。")
        for name, query in (
            ("search_google", asked), ("search_bocha", "黑石桥"), ("search_google", "黑石桥 设计")
        )
    )  # fmt: skip
    said = str(speak("verifier", before, question=asked, told=told).text)
    assert said.endswith("VERDICT: UNSURE\nTERMINATE")


@pytest.mark.parametrize(
    ("transcript", "candidates", "chosen"),
    [
        ("", "researcher\nanalyst\nverifier", "researcher"),
        ("1 researcher: 查到", "analyst\nverifier\nresearcher", "analyst"),
        ("1 researcher: 查到\n2 analyst: H1", "verifier\nresearcher", "verifier"),
        ("3 verifier: (disagree) 不对", "researcher\nanalyst", "analyst"),
        ("3 verifier: 不对", "researcher", "researcher"),
    ],
)
def test_the_chair_names_one_candidate(transcript: str, candidates: str, chosen: str) -> None:
    user = tagged({"question": QUESTION, "transcript": transcript, "candidates": candidates})
    said = SampleBrain().respond(Turn(render("team_select_system", "zh"), user))
    assert said.text == chosen


def settle(hypotheses: str, transcript: str, evidence: str) -> Answer:
    blocks = {"question": QUESTION, "hypotheses": hypotheses, "transcript": transcript}
    user = tagged(blocks | {"evidence": evidence})
    return SampleBrain().respond(Turn(render("team_synthesize_system", "zh"), user, schema={}))


def test_the_answer_is_the_best_hypothesis_with_its_sources_and_its_program() -> None:
    said = settle(
        "H1 [0.9] 253 — 青石桥全长1453米[^s0-0]\nH2 [0.1] 100 — 另一处[^s0-1] (pruned)",
        turn_of("verifier", "VERDICT: AGREE"),
        f"c0: print(253) ⇒ 253\n[^s0-0] 几座桥 — {PAGE}",
    )
    assert said.json["found"] is True
    assert said.json["answer"] == "253"
    assert said.json["evidence"] == ["s0-0", "c0"]


@pytest.mark.parametrize(
    ("hypotheses", "verdict"),
    [("H1 [0.05] 资料不支持任何答案", "UNSURE"), ("H1 [0.9] 253 — 青石桥[^s0-0]", "DISAGREE")],
)
def test_what_nobody_supports_or_the_verifier_refuted_is_no_answer(
    hypotheses: str, verdict: str
) -> None:
    said = settle(hypotheses, turn_of("verifier", f"VERDICT: {verdict}"), "")
    assert said.json["found"] is False
    assert said.json["answer"] == ""


@pytest.mark.parametrize(
    ("answer", "form", "written"),
    [("2016-06-16", "YYYY年M月D日", "2016年6月16日"), ("2016-06-16", "只回答年份", "2016"),
     ("253", "", "253"), ("425", "保留两位小数", "425.00"), ("211.5", "an integer", "212")],
)  # fmt: skip
def test_an_answer_takes_the_required_form(answer: str, form: str, written: str) -> None:
    user = tagged({"question": "?", "format_requirement": form, "answer": answer})
    said = SampleBrain().respond(Turn(render("team_format_system", "zh"), user, schema={}))
    assert said.json == {"answer": written}


@pytest.mark.parametrize(
    ("question", "steps"),
    [
        ("青石桥是哪一年建成的？", ["查青石桥：建成"]),
        ("When was the Stone Tower completed?", ["Look up Stone Tower: completed"]),
        (
            "What is the rating of the nearest bookshop to Stone Square?",
            ["Which places (bookshop) are at Stone Square, and what is the distance of each?",
             "Then look up its rating", "Compute the result by a program."],
        ),
    ],
)  # fmt: skip
def test_the_steps_of_a_question_are_told_in_its_language(question: str, steps: list[str]) -> None:
    user = tagged({"question": question})
    said = SampleBrain().respond(Turn(render("team_decompose_system", "zh"), user, schema={}))
    assert said.json == {"sub_questions": steps}


def test_a_stated_form_is_found_and_the_callers_comes_first() -> None:
    question = "青桥是白桥的几倍？（保留两位小数）"

    def analysed(form: str) -> str:
        user = tagged({"question": question, "format_requirement": form})
        turn = Turn(render("team_analyze_system", "zh"), user, schema={})
        return str(SampleBrain().respond(turn).json["format_requirement"])

    assert analysed("") == "保留两位小数"
    assert analysed("整数") == "整数"
