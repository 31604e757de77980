"""What is quoted where no model writes: what answers the question, in its language, once."""

from agent.assistants.common.excerpts import excerpt_lines, sentences_by_id

FOUND = {
    "w0-0": ["故宫博物院建于1925年。", "门票60元。"],
    "w0-1": ["The Palace Museum was founded on 10 October 1925.", "Bring water."],
    "w1-0": ["Hot pot is popular.", "The museum opens at 8:30.", "It was founded in 1925."],
    "w1-1": ["The Palace Museum was founded on 10 October 1925!"],
}  # fmt: skip
ASKED = "When was the Palace Museum in Beijing founded?"


def test_the_sentences_nearest_to_the_question_are_quoted_each_with_its_source() -> None:
    lines = excerpt_lines(FOUND, ASKED, "en")
    assert lines[0] == "- The Palace Museum was founded on 10 October 1925. [^w0-1]"
    assert "Hot pot" not in "".join(lines)
    assert "Bring water" not in "".join(lines)


def test_nothing_is_quoted_twice() -> None:
    assert "".join(excerpt_lines(FOUND, ASKED, "en")).count("10 October 1925") == 1
    seen = set[str]()
    first = excerpt_lines(FOUND, ASKED, "en", seen=seen)
    assert first
    assert not set(first) & set(excerpt_lines(FOUND, ASKED, "en", seen=seen))


def test_what_is_in_the_questions_language_comes_first() -> None:
    found = {"w0-0": ["王府井 Wangfujing 站在 Line 1 上，Wangfujing。"],
             "w0-1": ["Wangfujing is a stop of a line of the metro."]}  # fmt: skip
    ids = [line.split("[^")[1] for line in excerpt_lines(found, "Wangfujing metro line?", "en")]
    assert ids[0] == "w0-1]"
    zh = excerpt_lines(FOUND, "故宫博物院什么时候建立", "zh")
    assert zh[0].startswith("- 故宫博物院建于1925年。")


def test_where_nothing_shares_a_word_with_the_question_something_is_quoted_all_the_same() -> None:
    assert excerpt_lines({"w0-0": ["完全别的内容。"]}, "Where is it?", "en")
    assert excerpt_lines({}, ASKED, "en") == []


def test_a_source_has_all_sentences_since_the_marker_before() -> None:
    marked = ["- One. Two.[^w0-0][^w0-1]\n- Three [^w0-1].\n\n2. Four[^w0-2] Five."]
    assert sentences_by_id(marked) == {
        "w0-0": ["One.", "Two."], "w0-1": ["One.", "Two.", "Three"], "w0-2": ["Four"],
    }  # fmt: skip


def test_quoted_pages_bring_no_links() -> None:
    found = {"w0-0": ["Museum [click](https://evil.example/x) <img src=x> https://evil.example"]}
    assert "evil" not in "".join(excerpt_lines(found, "museum", "en"))
