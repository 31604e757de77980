"""Which passages a judge is shown, and which figures they bear out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import cast

from langchain_core.messages import BaseMessage

from agent.assistants.common.judge import Judge, evidence_of
from agent.core.budget import Meter
from agent.evidence.citations import NOT_FOUND
from agent.evidence.claims.judging import Ruling, passages_block, shown
from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.proof import proved
from agent.evidence.claims.statements import statements
from agent.evidence.notation import MARKED
from agent.evidence.revision import deciding_passages, faults_block
from agent.evidence.types import Source
from agent.models.client import ModelClient
from tests.support.rows import by_examples
from tests.support.team_steps import turn


def evidence(**texts: str) -> Evidence:
    records = {name.replace("_", "-"): Record([text]) for name, text in texts.items()}
    return Evidence(records, question="Extend it?", today="2026-11-28")


@dataclass
class Asked:
    """A model that keeps what it is asked, and says nothing."""

    prompt: Sequence[BaseMessage] = ()

    async def ask(self, _: str, prompt: Sequence[BaseMessage], **_options: object) -> object:
        self.prompt = prompt
        return SimpleNamespace(parsed=None)


def judged(text: str, known: Evidence, ruling: Ruling) -> Outcome:
    return proved(statements(text, MARKED)[:1], {0: ruling}, known)[0]


def test_of_a_sentence_with_three_facts_each_one_s_passage_is_shown() -> None:
    others = [f"Vacuum {n} of the tables reads inheritance children now." * 2 for n in range(9)]
    facts = ["Triggers run as the role that queued them, as before. " * 2,
             "A password in MD5 is answered by a warning. " * 2]  # fmt: skip
    known = evidence(w0_0="\n".join([*others, facts[0], *others, facts[1]]), w1_0="Vacuum. " * 90)
    [one] = statements(
        "Vacuum of tables reads inheritance children, triggers run as the role that queued them, "
        "MD5 only warns [^w0-0].",
        MARKED,
    )
    shown = " ".join(p.text for p in known.telling(one, 160)[0])
    assert all(fact[:30] in shown for fact in facts)


def test_of_a_long_page_only_what_comes_near_the_best_passage_is_shown() -> None:
    others = "\n".join(
        f"A hall of the tower, no. {n}, has lamps and chairs. " * 2 for n in range(30)
    )
    known = evidence(
        w0_0=f"{others}\nThe tower of Pisa leans by 3.97 degrees to the south.\n{others}"
    )
    [one] = statements("The tower of Pisa leans by 3.97 degrees [^w0-0].", MARKED)
    texts = [passage.text for passage in known.telling(one, 900)[0]]
    assert any("3.97" in text for text in texts)
    assert len(texts) < len(known.passages) / 2


def test_what_a_passage_has_shown_is_not_shown_over_and_over() -> None:
    leans = [f"The tower of Pisa leans to the south, guide {n} says. " * 3 for n in range(6)]
    known = evidence(w0_0="\n".join(leans), w1_0="Bells weigh eleven tons. " * 3)
    [one] = statements("The tower of Pisa leans to the south since its bells hang there.", MARKED)
    texts = [passage.text for passage in known.telling(one, 260)[0]]
    assert any("Bells" in text for text in texts)
    assert 1 <= sum("leans" in text for text in texts) < 4


def test_what_figures_need_is_shown_before_what_only_shares_words_with_other_statements() -> None:
    topics = [f"{name}{n}" for n in range(11) for name in ("oak", "elm", "ash", "fir")]
    near = "\n".join(f"The {topic} grows here, and more of it there. " * 6 for topic in topics)
    took = [f"{n} took {n}.25 seconds to be found. " * 6 for n in (31, 47, 58, 69)]
    known = evidence(w0_0="\n".join([near, *took, near.replace("here", "away")]))
    other = [" ".join(topics[n : n + 4]) + " grow [^w0-0]." for n in range(0, 44, 4)]
    said = "It took 31.25, 47.25, 58.25 and 69.25 seconds [^w0-0]."
    block = " ".join(p.text for p in shown(statements(" ".join([*other, said]), MARKED), known))
    assert all(f"{n}.25 seconds" in block for n in (31, 47, 58, 69))


def test_a_table_s_head_stands_once_before_its_rows() -> None:
    known = evidence(w0_0="Prices:\n| Tier | Price |\n|---|---|\n| Hot | 10 |\n| Warm | 2 |")
    assert [p.text for p in known.passages] == [
        "Prices: | Tier | Price | | Hot | 10 | | Warm | 2 |"
    ]


def test_the_reader_s_words_that_are_the_question_stand_once() -> None:
    known = Evidence(
        {"w0-0": Record(["The hall costs 60 €."])},
        question="What does the hall\ncost?",
        known=["What does the hall cost?", "We are four."],
    )
    batch = statements("The hall costs 60 € [^w0-0].", MARKED)
    block = passages_block(batch, known)
    assert "What does the hall cost?" not in block
    assert "We are four." in block


@by_examples
async def test_a_judge_is_told_of_sums_times_and_days_where_a_statement_has_new_ones(
    statement: str, question: str, has_sums: bool, has_times: bool, has_days: bool
) -> None:
    records = {"w0-0": Record(["The hall costs 60 €, from 9:00."])}
    known = Evidence(records, today="2026-11-28", question=question)
    models = Asked()
    judge = Judge(cast(ModelClient, models), "model", cast(Meter, None), MARKED)
    await judge(statements(statement, MARKED), known)
    told = str(models.prompt[0].content)
    found = ("calc  c:" in told, "own  s p:" in told, "workdays(" in told)
    assert found == (has_sums, has_times, has_days)


def test_short_own_files_are_shown_to_statements_that_cite_one_and_else_the_nearest_alone() -> None:
    web = " ".join(f"Cell {n} holds 160 Wh/kg in the test of the institute." for n in range(400))
    records = {"w0-0": Record([web])}
    for n, words in enumerate(("The hall costs 48,000 € a year.", "Soup on Mondays.", "No dogs.")):
        records[f"d0-{n}"] = Record([words], page=str(n), is_own=True)
    known = Evidence(records, today="2026-11-28")

    def own(text: str) -> list[str]:
        batch = [replace(one, exact=(*one.cited, *one.exact)) for one in statements(text, MARKED)]
        return [p.source for p in shown(batch, known) if p.source != "w0-0"]

    assert own("Cell 7 holds 160 Wh/kg in the test [^w0-0].") == []
    assert own("The hall costs 48,000 € a year [^d0-0].") == ["d0-0", "d0-1", "d0-2"]
    assert own("Guests like soup.") == ["d0-1"]
    text = "Nothing on insurance was found [^none]."
    batch = [replace(one, exact=(NOT_FOUND,)) for one in statements(text, MARKED)]
    assert len([p for p in shown(batch, known) if p.source != "w0-0"]) == 3


def test_a_judge_sees_what_a_program_gave_for_a_figure_whatever_the_statement_cites() -> None:
    web = " ".join(f"Zelle {n} hält im Test des Instituts {n} Stunden aus." for n in range(1, 900))
    sums = Record(["gas: 20000 / 0.84 x 0.0829 = 1974 EUR\nrun: 7 x 24 = 168"])
    known = Evidence({"w0-0": Record([web]), "c0-0": sums}, today="2026-11-28")

    def worked(text: str) -> bool:
        return any(p.source == "c0-0" for p in shown(statements(text, MARKED), known))

    assert worked("Gas kostet im Jahr 1.974 € [^w0-0].")
    assert not worked("Die Zelle hält im Test des Instituts nicht so lange [^w0-0].")


def test_a_year_in_a_passage_bears_out_no_day_of_it() -> None:
    known = evidence(w0_0="Sales cuts the plan of 2027.", w1_0="The quarter ended on 2026-09-30.")
    for text, verdict in (
        ("The plan of 2027 is cut [^w0-0].", "supported"),
        ("The plan is cut by 31 March 2027 [^w0-0].", "unchecked"),
        ("The plan is cut by March 2027 [^w0-0].", "unchecked"),
    ):
        assert judged(text, known, Ruling(v="s", p=["1.1"])).verdict == verdict
    told = statements("The plan is cut by 31 March 2027 [^w0-0].", MARKED)
    outcome = judged(told[0].text, known, Ruling(v="s", p=["1.1"]))
    assert faults_block(told, [outcome], {}, known) == ["1: unproved: 31 March 2027"]
    text = "The right lasts six months from the end of the quarter, until 31 March 2027 [^w1-0]."
    outcome = judged(text, known, Ruling(v="c", p=["2.1"], calc="2026-09-30+6m"))
    assert (outcome.verdict, outcome.spans) == ("missing", ("31 March 2027",))
    assert "2027-03-30" in outcome.value


@by_examples
def test_a_difference_is_borne_out_either_way_round_and_no_other_sign_is_lost(
    says: str, cell: str, verdict: str
) -> None:
    table = f"| | Oak | Elm |\n|---|---|---|\n| More than elm, $ | {cell} | 0 |\n"
    ruling = Ruling(v="s", p=["1.1"])
    assert judged(table, evidence(w0_0=says), ruling).verdict == verdict


def test_what_a_judge_supports_without_a_passage_is_borne_out_only_by_one_that_is_cited() -> None:
    for text, verdict in (
        ("故宫门票60元，周一闭馆[^w0-0]。", "supported"),
        ("故宫里有很多大树[^w0-0]。", "unchecked"),
        ("这样最省时间。", "own"),
        ("这样要80元。", "unchecked"),
    ):
        known = evidence(w0_0="故宫门票 60 元，周一闭馆。")
        assert judged(text, known, Ruling(v="s")).verdict == verdict, text


def test_an_age_from_which_on_somebody_pays_stands_in_the_source_like_any_figure() -> None:
    known = evidence(w0_0="儿童 7 岁以下免票。")
    for age, verdict in ((7, "supported"), (6, "unchecked")):
        text = f"{age} 岁以下免票[^w0-0]。"
        assert judged(text, known, Ruling(v="s", p=["1.1"])).verdict == verdict


def test_a_calculation_is_no_own_file_that_is_shown_to_every_statement() -> None:
    sources = {
        name: Source(id=name, kind="document", title=name, url="", provider="", quotes=["17."])
        for name in ("c0-0", "f111-11")
    }
    known = evidence_of({"turn": turn()}, sources, {}, [])
    assert {name for name, record in known.records.items() if record.is_own} == {"f111-11"}


def test_the_sum_with_a_statement_s_figure_comes_before_those_that_share_its_words() -> None:
    lines = [
        f"Amortisation mit Speicher bei {price} + 600 Euro, {side}: ({price} + 600) / {saved} = {n}"
        for side, saved in (("sonniger Südbalkon", 238), ("ungünstiger Balkon", 129))
        for price in range(300, 800, 50)
        for n in [f"{(price + 600) / saved:.1f} Jahre"]
    ]
    program = Source(
        id="c0-0", kind="document", title="Amortisation", url="", provider="Berechnung",
        quotes=["\n".join(lines)],
    )  # fmt: skip
    known = evidence_of({"turn": turn("Lohnt es sich?")}, {"c0-0": program}, {}, [])
    text = (
        "Auf ungünstigem Balkon mit Speicher ist die Amortisation bei 350 + 600 € nach 7,4 Jahren"
    )
    [one] = statements(f"{text} [^c0-0].", MARKED)
    [first, *_] = known.telling(one, 60)[0]
    assert first.text == lines[11], "alone: each sum is a passage"
    [one] = statements("Auf dem Balkon mit Speicher ist sie nach 4,0 Jahren da [^c0-0].", MARKED)
    assert known.telling(one, 60)[0][0].text == lines[1]


def test_what_a_program_alone_gave_is_told_as_worked_out_and_not_as_in_the_sources() -> None:
    given, page = "1957-10-15: Tuesday\n1957-10-25: Friday", "It was opened on 15 October 1957."
    known = Evidence({"w0-0": Record([page])}, known=["Opened when?", given], worked=[given])

    def verdict(of: Evidence, *names: str) -> str:
        text = "15 October 1957 was a Tuesday (calculation 1)."
        return judged(text, of, Ruling(v="s", p=list(names))).verdict

    named = next(p.name for p in known.passages if "Tuesday" in p.text)
    assert verdict(known, named) == "computed"
    assert verdict(known, named, "1.1") == "supported"
    cited = Evidence({"c0-0": Record([given], is_worked=True), "w0-0": Record([page])})
    assert verdict(cited, "1.1") == "computed"


PAGE = "\n".join([
    *(f"Etcd keeps the leader key for the primary, note {n} of the operator. " * 3
      for n in range(40)),
    "Where the DCS is lost the old master goes to read-only mode until it is back. " * 2,
    "A planned restart of the node belongs into a maintenance window. " * 3,
])  # fmt: skip
"""3,000 tokens in another language than the statements below."""
READ_ONLY = "goes to read-only mode"


def page_with(*seen: str) -> Evidence:
    others = {f"w{n}-9": Record([f"主库降级的说明之{n}：手册没有别的内容。" * 9]) for n in range(9)}
    return Evidence({"w0-0": Record([PAGE], page="w0-0"), **others}, seen={"w0-0": seen})


def test_of_a_long_page_in_another_language_a_judge_is_shown_what_its_writer_was_shown() -> None:
    seen = [passage.text for passage in page_with().passages if READ_ONLY in passage.text]
    batch = statements("etcd 失联时，主库降为只读[^w0-0]。", MARKED) * 12
    assert READ_ONLY not in passages_block(batch, page_with())
    assert READ_ONLY in passages_block(batch, page_with(*seen))


def test_a_writer_s_passages_are_shown_the_nearest_first_and_no_more_than_a_short_source() -> None:
    every = [p.text for p in page_with().passages if p.source == "w0-0"]
    [one] = statements("etcd 失联时，主库降为只读[^w0-0]。", MARKED)
    known = page_with(*reversed(every))
    told, _, needed = known.telling(one, 260)
    assert READ_ONLY in " ".join(passage.text for passage in told[:3])
    assert 600 < sum(passage.tokens for passage in told[:needed]) <= 700


def test_where_a_page_has_the_words_of_a_statement_these_choose_its_passages() -> None:
    every = [p.text for p in page_with().passages if p.source == "w0-0"]
    [one] = statements("Where the DCS is lost the master goes to read-only mode [^w0-0].", MARKED)
    assert page_with(*every).telling(one, 260)[0] == page_with().telling(one, 260)[0]


def test_whoever_revises_is_shown_what_the_writer_was_shown_of_a_page() -> None:
    every = [p.text for p in page_with().passages if p.source == "w0-0"]
    [one] = statements("etcd 失联时，主库降为只读[^w0-0]。", MARKED)
    told = deciding_passages((one, Outcome("missing")), page_with(*reversed(every)))
    assert READ_ONLY in " ".join(passage.text for passage in told)


def test_what_a_source_says_is_found_in_a_passage_of_it_that_the_judge_did_not_name() -> None:
    beside = "Archive Search is in Preview, and who wants it asks the support of the vendor. " * 3
    known = evidence(w0_0=f"{'Archive Search reads the logs of a bucket. ' * 9}\n{beside}")
    text = "Archive Search reads old logs [^w0-0]."
    ruling = Ruling(v="p", p=["1.1"], bad=["Archive Search"], says="is in Preview")
    outcome = judged(text, known, ruling)
    assert outcome.verdict == "missing"
    assert any("Preview" in passage.text for passage in outcome.passages)
