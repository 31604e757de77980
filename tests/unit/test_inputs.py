"""Which sources the numbers of a calculation's lines come from."""

from decimal import Decimal

import pytest

from agent.assistants.common.inputs import Inputs, numbers_of
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.sum_lines import inputs_of, with_inputs
from agent.evidence.types import Source

EVIDENCE = Evidence(
    {
        "w0-0": Record(["Ingest is $0.05, writing $0.40 per GB; the base fee is $19."]),
        "w0-1": Record(["An m7g.large is $0.0816 an hour, one in Oregon $0.09."], page="ec2"),
        "w0-2": Record(["S3 costs $0.0231 per GB. Another has a fee of $19."]),
        "w0-3": Record(["S3 costs $0.0231 per GB, too."]),
        "w0-4": Record(["Read in thoughts of nobody: $0.0999."]),
        "c0-0": Record(["old: 2 × 0.777 = 1.554"], is_worked=True),
    },
    question="What of 2,345 GB?",
)


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("nodes: 38/2 × 0.0816 × 730 h = $1,132", ["w0-1"]),
        ("cloud: 60,000 × 0.05 + 59,950 × 0.40 + 19 = $26,999", ["w0-0"]),
        ("both: 0.0816 × 19 + 0.05 + 0.40 = $2", ["w0-1", "w0-0"]),
        ("S3: 36,000 GB × 0.0231 = $832", []),
        ("fee: 19 × 2 = $38", []),
        ("all: 2,345 × 1.554 = $3,644", []),
        ("other: 0.0999 × 2 = $0.2", []),
    ],
)
def test_a_line_s_source_is_what_alone_says_a_telling_number_or_several(
    line: str, names: list[str]
) -> None:
    keys = {name: name for name in EVIDENCE.records if name not in ("w0-4", "c0-0")}
    assert Inputs(EVIDENCE, keys, {}).of([line]) == [names]


def test_two_finds_of_one_page_are_one_source_and_what_a_writer_cites_comes_first() -> None:
    keys = {name: "s3" if name in ("w0-2", "w0-3") else name for name in EVIDENCE.records}
    cited = {numbers_of("fee: 2 × 19 = 38"): ["w0-0"]}
    lines = ["S3: 36,000 GB × 0.0231 = $832", "fee: 19 × 2 = $38.00"]
    assert Inputs(EVIDENCE, keys, cited).of(lines) == [["w0-2"], ["w0-0"]]
    assert numbers_of("fee: 19 × 2 = $38.00") == {Decimal(2), Decimal(19), Decimal(38)}


def source(number: int, **more: list[str]) -> Source:
    return Source(id="c0-0", kind="document", title="sums", url="", provider="", quotes=[],
                  number=number, **more)  # type: ignore[typeddict-item]  # fmt: skip


def test_lines_cite_their_sources_only_where_the_text_cites_the_calculation() -> None:
    sums = ["a. 2 × 3 = 6", "b. 6 × 2 = 12"]
    used = [source(1, sums=sums, inputs=["[2](https://a.example)[3]", ""])]
    told = inputs_of(used, "It is 6 [1].")
    assert told == "[2](https://a.example)[3]\n"
    assert inputs_of(used, "It is 6 [4].") == ""
    [one] = with_inputs(used, told)
    assert one["sums"] == ["a. 2 × 3 = 6 [2][3]", "b. 6 × 2 = 12"]
    [bare] = with_inputs(used)
    assert bare["sums"] == sums
    assert "inputs" not in one.keys() | bare.keys()
