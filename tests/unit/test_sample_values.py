"""What the sample's model takes out of sentences, and the arithmetic it hands to a program."""

import contextlib
import io
from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest

from agent.sample.model.text import Record
from agent.sample.model.values import of_record, of_sentence, program, value_kind
from agent.sample.subject import subject_of

TEA = Record("a0-1", ("鹤鸣茶社", "茶艺馆", "★4.6", "¥30", "周一至周日 07:00-20:00", "少城路12号"))


@pytest.mark.parametrize(
    ("question", "sentence", "value"),
    [
        ("外白渡桥建成于哪一年？", "外白渡桥建成于1907年，2009年修缮。", "1907"),
        ("西湖的苏堤全长多少公里？", "苏堤全长2.8公里，有6座桥。", "2.8"),
        ("西湖的苏堤全长多少米？", "苏堤全长2.8公里，有6座桥。", ""),
        ("上海中心大厦是哪一年建成的？", "外白渡桥建成于1907年。", ""),
        ("外白渡桥是哪一年修缮的？", "外白渡桥建成于1907年。", ""),
        ("In which year was the QR code invented?", "The QR code was invented in 1994.", "1994"),
        ("How long is a marathon in kilometres?", "A marathon is 42.195 kilometres.", "42.195"),
        ("上海迪士尼乐园是哪一天开园的？", "上海迪士尼乐园2016年6月16日开园。", "2016-06-16"),
        ("二维码是由谁发明的？", "二维码是1994年由日本电装公司发明的。", ""),
    ],
)
def test_a_value_is_of_the_kind_the_unit_and_the_subject_asked_for(
    question: str, sentence: str, value: str
) -> None:
    subject = subject_of(question)
    assert of_sentence(sentence, question, subject, subject.text if "苏堤" in question else "") == (
        value
    )


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("鹤鸣茶社的评分是多少？", "4.6"),
        ("鹤鸣茶社人均多少元？", "30"),
        ("鹤鸣茶社几点关门？", "20:00"),
        ("鹤鸣茶社几点开门？", "07:00"),
        ("鹤鸣茶社的地址是什么？", "少城路12号"),
    ],
)
def test_a_fact_of_a_place_comes_from_its_record(question: str, value: str) -> None:
    found = of_record(TEA, value_kind(question))
    assert found is not None
    assert (found.text, found.id) == (value, "a0-1")


@pytest.mark.parametrize(
    "question",
    [
        "雷峰塔和豫园哪个评分更高？",
        "王府井附近评分最高的商场是哪家？",
        "东方明珠比金茂大厦高多少米？",
        "Who wrote The Classic of Tea?",
        "Which is older, the Peace Hotel or Waibaidu Bridge?",
    ],
)
def test_what_needs_a_language_model_has_no_value(question: str) -> None:
    assert value_kind(question) == ""


@pytest.mark.parametrize(
    ("question", "result"),
    [
        ("What is 17 times 23?", "391"),
        ("(12 + 8) * 3 等于多少？", "60"),
        ("1200元的15%是多少？", ""),
        ("240的15%是多少？", "36"),
        ("What is 15% of 240?", "36"),
        ("100除以8等于几？", "12.5"),
        ("从2024年3月1日到2024年12月25日相隔多少天？", "299"),
        ("2016年6月16日是星期几？", "星期四"),
        ("What day of the week was 2016-06-16?", "Thursday"),
        ("外白渡桥建成于哪一年？", ""),
    ],
)
def test_arithmetic_that_a_question_states_is_a_program_that_can_be_checked(
    question: str, result: str
) -> None:
    assert [_run(program(question, again=again)) for again in (False, True)] == [result, result]


def _run(code: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {"Decimal": Decimal, "Fraction": Fraction, "date": date})
    return printed.getvalue().strip()
