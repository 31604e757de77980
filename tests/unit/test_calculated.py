"""Which sums of a run's programs stand below a report, and how they are written."""

from decimal import Decimal

from agent.assistants.common.calculated import UsedSums
from agent.evidence.claims.statements import statements
from agent.evidence.notation import LINKED
from agent.evidence.number_forms import number_form
from agent.evidence.types import Source


def program(*lines: str, name: str = "c0-0") -> Source:
    return Source(
        id=name, kind="document", title="sums", url="", provider="calculation",
        quotes=["\n".join(lines)],
    )  # fmt: skip


def told(body: str, *lines: str, tag: str = "en") -> list[str]:
    """The lines below a text that cites the program as 1."""
    sums = UsedSums(body, statements(body, LINKED), {"c0-0": "[1]"}, number_form(tag))
    return sums.lines([program(*lines)]).get("[1]", [])


OTHER = "别的: 1 + 1 = 2"


def test_a_sum_is_told_in_the_text_s_currency_alone() -> None:
    lines = "Scotland net: 14000 - 9000 = 5000 GBP", "Germany: 35000 - 30000 = 5000 EUR"
    assert told("An expensive house pays €5,000 itself.[1]", *lines) == [
        "Germany: 35,000 - 30,000 = €5,000"
    ]


def test_a_difference_is_told_as_less_or_as_more() -> None:
    body = "It costs €1,053 less than gas.[1] Electricity is £317 dearer.[1]"
    lines = "France: 1324 - 2377 = -1053 EUR", "UK: 1684 - 1367 = 317 GBP"
    assert told(body, *lines) == ["France: 1,324 - 2,377 = −€1,053", "UK: 1,684 - 1,367 = £317"]


def test_a_sum_is_told_in_hundredths_of_its_unit() -> None:
    body = "| | Germany | UK |\n|---|---|---|\n| Turns at | 28.9 ct[1] | 20.0p[1] |"
    lines = (
        "Germany: 0.0829 x 2.93 / 0.84 = 0.2892 EUR", "UK: 0.0574 x 2.93 / 0.84 = 0.2002 GBP",
        "France: 0.09983 x 2.93 / 0.84 = 0.3482 EUR",
    )  # fmt: skip
    assert told(body, *lines) == [
        "Germany: 0.0829 × 2.93 / 0.84 = 0.2892 EUR",
        "UK: 0.0574 × 2.93 / 0.84 = 0.2002 GBP",
    ]


def test_a_sum_that_two_lines_have_is_told_once() -> None:
    lines = "gas: 20000 / 0.84 x 0.0829 = 1974 EUR", "the same: 20000 / 0.84 x 0.0829 = 1974 EUR"
    assert told("Gas costs €1,974 a year.[1]", *lines) == ["gas: 20,000 / 0.84 × 0.0829 = €1,974"]


def test_a_small_result_is_told_only_where_the_calculation_is_cited() -> None:
    lines = "ratio: 0.2467 / 0.0574 = 4.30", OTHER
    assert told("The ratio is 4.30.[1]", *lines) == ["ratio: 0.2467 / 0.0574 = 4.30"]
    assert told("The ratio is 4.30.[2](https://a.example)", *lines) == []


def test_a_result_stands_behind_the_sign_also_with_a_number_in_words_before_it() -> None:
    line = "Datadog: 60 TB = 46 G events, all three = all three $90,804"
    assert told("Datadog costs $90,804 a month.[1]", line, OTHER) == [line]


def test_a_price_of_few_decimals_that_a_sum_rests_on_stands_before_it() -> None:
    lines = "one vCPU: 0.0816 x 730 / 2 = $29.78", "forty: 40 x 29.78 = $1,191.20"
    assert len(told("Compute costs $1,191 a month.[1]", *lines)) == 2


def test_the_low_end_of_a_range_keeps_the_multiple_that_stands_at_its_high_end() -> None:
    body = "PolarDB 三年 9.6～16 万元，RDS 三年 64,000 元。[1]"
    line = "PolarDB: 270 × 8 × 36 = 9.6～16 万元"
    assert told(body, line, OTHER, tag="zh-Hans") == [line]


def test_a_cell_whose_unit_stands_in_its_head_tells_a_result() -> None:
    cells = "| 万元 | RDS |\n|---|---|\n| 人力 | 5.1 [1] |"
    line = "RDS 人力: 296 × 172.4 = 5.1 万元"
    assert told(cells, line, OTHER, tag="zh-Hans") == [line]


def test_all_terms_of_a_total_stand_before_it_however_small() -> None:
    lines = ("cathedral: 2 x 10 = 20 EUR", "drinks: 4 x 20 = 80 EUR", "tickets: 2 x 95 = 190 EUR",
             "in all: 20 + 80 + 190 = 290 EUR")  # fmt: skip
    assert len(told("It costs €290 in all.[1]", *lines)) == len(lines)


def test_a_line_with_a_result_that_the_text_does_not_work_out_stays() -> None:
    body = "Own servers cost 30 × 29.78 = $893.40, and all in all $5,906.[1]"
    line = "own: 30 x 29.78 = $893.40 + S3 and gp3 = $5,906"
    assert told(body, line, OTHER) != []


def test_all_results_of_a_list_behind_the_sign_are_results() -> None:
    line = "vCPU by size = 90 small, 120 medium, 4,085 large"
    assert told("Large ones cost 4,085 euros.[1]", line, OTHER) == [line]


def test_what_a_later_program_works_out_anew_is_told_as_that_has_it() -> None:
    body = "OpenSearch costs $98,320 a month.[1][2]"
    sums = UsedSums(body, statements(body, LINKED), {"c0-0": "[1]", "c1-0": "[2]"})
    lines = sums.lines(
        [program("OpenSearch: 200 x 491.60 = $98,320", OTHER),
         program("OpenSearch: 400 x 245.80 = $98,320", OTHER, name="c1-0")]
    )  # fmt: skip
    assert list(lines) == ["[2]"]


def test_a_later_sum_with_the_same_name_takes_the_place_only_of_what_the_text_tells_no_more() -> (
    None
):
    body = "A folding chair costs 143 €, two more rides 57 €.[1][2]"
    sums = UsedSums(body, statements(body, LINKED), {"c0-0": "[1]", "c1-0": "[2]"})
    lines = sums.lines(
        [program("folding chair: 110 × 1.3 = 143 €", "all: 141 × 3 = 423 €", OTHER),
         program("folding chair: 2 × 142.5 / 5 = 57 €", OTHER, name="c1-0")]
    )  # fmt: skip
    assert lines == {
        "[1]": ["folding chair: 110 × 1.3 = 143 €"],
        "[2]": ["folding chair: 2 × 142.5 / 5 = 57 €"],
    }


def test_what_a_line_assumes_is_no_result_of_it() -> None:
    """A total that nothing told stood in the list, as it assumed 851 m, which a way has."""
    lines = "total low: 260 + 84 + 97 = 441 € (851, 1043 assumed)", "meals: 4 × 65 = 260 €"
    assert told("Drive 851 m. Meals cost 260 €.[1]", *lines) == ["meals: 4 × 65 = 260 €"]


def test_what_a_sum_rests_on_stands_before_it() -> None:
    lines = "year: 417 * 3 = 1251 元", OTHER, "two years: 1251 * 2 = 2502 元"
    assert told("两年 2,502 元。[1]", *lines) == [
        "year: 417 × 3 = 1,251 元",
        "two years: 1,251 × 2 = 2,502 元",
    ]


def test_what_a_sum_rests_on_is_found_unrounded() -> None:
    lines = "a ride: 2 * 2.95 + 2.95 / 2 = 7.38 euros", OTHER, "two rides: 2 * 7.375 = 14.75 euros"
    assert told("The tram is 14.75 € [1].", *lines) == [
        "a ride: 2 × 2.95 + 2.95 / 2 = 7.38 €",
        "two rides: 2 × 7.375 = 14.75 €",
    ]


def test_an_end_of_a_range_is_told_in_the_range_s_unit() -> None:
    lines = "from: 14.75 + 210.60 = 225.35 euros", "to: 14.75 + 272.60 = 287.35 euros"
    assert told("Plan on 225.35–287.35 €.[1]", *lines) == [
        "from: 14.75 + 210.60 = 225.35 €", "to: 14.75 + 272.60 = 287.35 €",
    ]  # fmt: skip


def test_every_number_has_the_form_of_the_report_s_language_and_a_name_is_words() -> None:
    lines = (
        "gas_cost per year: 20000 / 0.84 x 0.0829 = 1974 EUR",
        "in 15 years: 1974 * 15 = 29610 EUR",
    )
    body = "Gas kostet im Jahr 1.974 €,[1] in 15 Jahren 29.610 €.[1]"
    assert told(body, *lines, tag="de") == [
        "gas_cost per year: 20.000 / 0,84 × 0,0829 = 1.974 €",
        "in 15 years: 1.974 × 15 = 29.610 €",
    ]


def test_what_a_program_prints_in_that_form_already_stays() -> None:
    body = "Zusammen sind es 12.345,50 €.[1]"
    line = "zusammen: 10000 + 2.345,50 = 12.345,50 €"
    assert told(body, line, OTHER, tag="de") == ["zusammen: 10.000 + 2.345,50 = 12.345,50 €"]
    line = "Anteil: 2.000 EUR * 0,372 = 744 EUR"
    body = "Das sind 744 €.[1]"
    assert told(body, line, OTHER, tag="de") == ["Anteil: 2.000 € × 0,372 = 744 €"]


def test_an_amount_of_a_sum_has_the_text_s_sign_of_its_currency() -> None:
    line = "Anzahlung: 12500 EUR / 5 = 2500 EUR je Rate"
    body = "Fünf Raten von 2.500 €.[1]"
    assert told(body, line, OTHER, tag="de") == ["Anzahlung: 12.500 € / 5 = 2.500 € je Rate"]
    body = "Five instalments of €2,500.[1]"
    line = "instalment: 12500 EUR / 5 = 2500 EUR; 20 GBP apart"
    assert told(body, line, OTHER) == ["instalment: €12,500 / 5 = €2,500; 20 GBP apart"]


def test_an_amount_takes_no_multiple_from_the_text_for_its_sign() -> None:
    body = "共投入3.5万元，每人每年45元/月。每年1,251元。[1]"
    line = "每年：417 元 * 3 = 1251 元"
    assert told(body, line, OTHER) == ["每年：417元 × 3 = 1,251元"]


def test_a_unit_in_words_stays_as_the_program_printed_it() -> None:
    lines = "in 15 Jahren: 1974 * 15 = 29610 EUR", "Frist: 7 * 0.7 = 4.9 Jahre", OTHER
    body = "Es kostet 29.610 € über 15 Jahre.[1] Nach 4,9 Jahren ist es bezahlt.[1]"
    assert told(body, *lines, tag="de") == [
        "in 15 Jahren: 1974 × 15 = 29.610 €",
        "Frist: 7 × 0,7 = 4,9 Jahre",
    ]


def test_a_line_is_told_for_each_cell_that_cites_its_program_however_small_its_number_is() -> None:
    lines = (
        "Amortisation bei 350 Euro: 350 / 124 = 2.8 Jahre", "bei 800 Euro: 800 / 67 = 11.9 Jahre",
        "Ersparnis im Jahr: 450 * 0.4 * 0.372 = 67 Euro", "Geräte: 9 / 2 = 5",
    )  # fmt: skip
    cells = (
        "| | Süd | Nord |\n|---|---|---|\n| Jahre | 2,8 [1] | 11,9 [1] |\n| € | 67 [1] | 5 [1] |"
    )
    assert len(told(cells, *lines, tag="de")) == len(lines)
    assert told(cells.replace("[1]", "[2](https://a.example)"), *lines, tag="de") == []


def test_a_single_line_is_told_with_what_it_assumes() -> None:
    line = "a month in the cheaper of both regions: 730 * 0.0416 * 12 * 3 + 55 * 12 = 1753.25 USD"
    assert told("It comes to $1,753.25.[1]", f"{line} (730 assumed)") == [
        "a month in the cheaper of both regions: 730 × 0.0416 × 12 × 3 + 55 × 12 = $1,753.25"
        " (730 assumed)"
    ]
    assert told("It comes to $24.[1]", "12 * 2 = 24 USD (12 assumed)") == [
        "12 × 2 = $24 (12 assumed)"
    ]


def test_a_decimal_that_was_printed_stays_and_a_great_whole_number_has_none() -> None:
    line = "人力: (0.25 人 × 36 月 + 1.0 人月) × 3 万元 = 30.0 万元，每月 8333.0 元"
    assert told("人力 30 万元。[1]", line, tag="zh-Hans") == [
        "人力: (0.25 人 × 36 月 + 1.0 人月) × 3 万元 = 30 万元，每月 8333 元"
    ]


def test_a_cell_without_a_unit_leaves_the_line_the_text_s_sign_of_its_currency() -> None:
    body = "Loki costs $1,960.[1]\n\n| $ a month | Loki |\n|---|---|\n| nodes | 1,132 [1] |"
    lines = "nodes: 38/2 x 0.0816 x 730 h = 1,132 USD/month", "all: 1,132 + 828 = 1,960 USD/month"
    assert told(body, *lines) == [
        "nodes: 38/2 × 0.0816 × 730 h = $1,132/month",
        "all: 1,132 + 828 = $1,960/month",
    ]


def test_what_a_declared_sum_rests_on_stands_before_it_though_a_program_gave_it() -> None:
    body = "四核合 21 万元。[1]"
    sums = UsedSums(body, statements(body, LINKED), {"c0-0": "[1]", "c1-0": "[1]"})
    cloud, staff, other = (
        "云: 3.15 × 4 = 12.6 万元",
        "人力: 2.8 × 3 = 8.4 万元",
        "别的: 2 × 5 = 10 万元",
    )
    declared = "四核: 12.6 + 8.4 = 21 万元"
    lines = sums.lines([program(cloud, staff, other), program(declared, name="c1-0")])
    assert lines == {"[1]": [cloud, staff, declared]}


def test_a_term_whose_unit_stands_behind_its_sum_is_told_by_the_line_that_gives_it() -> None:
    lines = "云: 3.15 × 4 = 12.6 万元", "别的: 2 × 5.5 = 11 万元"
    assert told("四核 12.6 + 8.4 = 21.0 万元。[1]", *lines, tag="zh-Hans") == [lines[0]]


def test_a_count_of_something_else_is_no_result() -> None:
    lines = "运维: 0.026 × 160 = 4 小时", "云: 4 × 3.15 = 12.6 万元"
    assert told("RDS 平均用 4 RCU，合计 12.6 万元。[1]", *lines, tag="zh-Hans") == [lines[1]]
    assert told("运维每月 4 小时。[1]", *lines, tag="zh-Hans") == [lines[0]]


def test_the_terms_of_a_sum_behind_a_name_are_no_results_of_it() -> None:
    lines = "cloud = (0.0497 + 0.1)×2 = 18.6 万元", "in all = 18.6 + 9.9 = 28.5 万元"
    assert told("云 18.6 万元[1]。", *lines, tag="zh-Hans") == [lines[0]]


def test_lines_stand_in_the_order_in_which_the_text_uses_them() -> None:
    lines = "gas: 20000 x 0.0987 = $1,974", "power: 5000 x 0.37 = $1,850", "heat: 5 x 246 = $1,230"
    body = "A pump needs $1,230.[1] Power costs $1,850, gas $1,974.[1] Heat again: $1,230.[1]"
    assert [line.partition(":")[0] for line in told(body, *lines)] == ["heat", "gas", "power"]


def test_what_a_sum_rests_on_moves_with_it() -> None:
    lines = (
        "gas: 20000 x 0.0987 = $1,974", "one night: 120 + 25.50 = $145.50",
        "ten nights: 10 x 145.50 = $1,455",
    )  # fmt: skip
    body = "Ten nights cost $1,455.[1] Gas costs $1,974.[1]"
    labels = [line.partition(":")[0] for line in told(body, *lines)]
    assert labels == ["one night", "ten nights", "gas"]


def test_two_lines_of_one_sum_are_told_where_the_text_uses_both() -> None:
    lines = "lunch: 2 x 20 = 40 EUR", "dinner: 2 x 20 = 40 EUR", "in all: 40 + 40 = 80 EUR"
    assert len(told("Lunch costs €40.[1] Dinner costs €40.[1]", *lines[:2])) == 2
    assert len(told("Both meals cost €80.[1]", *lines)) == 3
    assert len(told("A meal costs €40.[1]", *lines[:2])) == 1


def test_what_a_cited_source_explains_needs_no_line_of_a_program() -> None:
    lines = "year: 417 * 3 = 1251 元", "two years: 1251 * 2 = 2502 元"
    body = "两年 2,502 元。[1]"
    sums = UsedSums(
        body, statements(body, LINKED), {"c0-0": "[1]"}, explained={Decimal(1251)}
    )  # fmt: skip
    assert sums.lines([program(*lines)])["[1]"] == ["two years: 1,251 × 2 = 2,502 元"]


def test_an_x_between_a_quantity_and_a_number_is_a_sign_as_in_the_other_lines() -> None:
    lines = "S3: 36,000 GB x 0.023 = 828 USD/month", "nodes: 19 x 0.0816 x 730 h = 1,132 USD/month"
    assert told("S3 costs $828 and nodes $1,132 a month.[1]", *lines) == [
        "S3: 36,000 GB × 0.023 = $828/month", "nodes: 19 × 0.0816 × 730 h = $1,132/month",
    ]  # fmt: skip


def test_a_line_that_only_goes_on_belongs_to_the_line_before() -> None:
    lines = "managed: 4,443 - 3,813 = 630 USD/month", "  = 8 hours of work at 80 USD an hour", OTHER
    body = "Managed costs $630 a month more, 8 hours of your work.[1]"
    (line,) = told(body, *lines)
    assert line.startswith("managed: 4,443 - 3,813 = $630/month = 8 hours of work")


def test_what_a_fraction_is_made_of_stands_before_it() -> None:
    lines = "requests: 12+8+2+10+2+2+2 = 38 CPU", "nodes: 38/2 x 0.0816 x 730 h = 1,132 USD/month"
    assert len(told("Nodes cost $1,132 a month.[1]", *lines)) == len(lines)


def test_a_name_keeps_its_underscores() -> None:
    line = "lost writes (loop_wait 10 s): 600 x 5 = 3,000"
    assert told("It loses 3,000 writes.[1]", line, OTHER) == [
        "lost writes (loop_wait 10 s): 600 × 5 = 3,000"
    ]


def test_a_result_has_the_digits_of_the_cell_that_tells_it() -> None:
    cells = "| 万元 | Patroni |\n|---|---|\n| 人力 | 33.0 [1] |"
    line = "人力: (0.25 人×36 月 + 2 人月)×3 万元 = 33.0 万元"
    (shown,) = told(cells, line, OTHER, tag="zh-Hans")
    assert shown.endswith("= 33.0 万元")


def test_thousands_are_parted_alike_in_all_lines() -> None:
    lines = "lost: 600 × 30 = 18000", "hours: 3 × 8,760 = 26,280"
    bare = "It loses 18000 writes in 26280 hours.[1]"
    assert told(bare, *lines) == ["lost: 600 × 30 = 18000", "hours: 3 × 8760 = 26280"]
    mixed = "It loses 18000 writes in 26,280 hours.[1]"
    assert told(mixed, *lines) == ["lost: 600 × 30 = 18,000", "hours: 3 × 8,760 = 26,280"]


def test_programs_with_one_mark_have_one_list() -> None:
    body = "A costs $1,251 and B $2,346.[1]"
    marks = {"c0-0": "[1]", "c1-0": "[1]"}
    sums = UsedSums(body, statements(body, LINKED), marks)
    programs = [program("a: 3 x 417 = 1251 USD", OTHER),
                program("b: 2 x 1173 = 2346 USD", OTHER, name="c1-0")]  # fmt: skip
    assert sums.lines(programs) == {"[1]": ["a: 3 × 417 = $1,251", "b: 2 × 1,173 = $2,346"]}


def test_a_telephone_s_digits_are_no_way_to_write_a_result() -> None:
    lines = "in all: 260 + 84 + 256 = 600 €", OTHER
    (line,) = told("Call 0100 0600. It comes to 600 €.[1]", *lines)
    assert line.endswith("= 600 €")
