"""The days that texts name, as a model is told them."""

import pytest

from agent.assistants.common.days_told import days_told

NOW = "2026-11-29"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Valid until 4 December 2026.", "2026-12-04 Fri (in 5 days, 5 of them Mon–Fri)"),
        ("检测日 2026 年 11 月 6 日。", "2026-11-06 Fri (past, 23 days ago)"),
        (
            "Repeat by 5 March.",
            "2027-03-05 Fri (in 96 days, 70 of them Mon–Fri), or 2026-03-05 Thu",
        ),
        ("5 March 2028, and 5 March again.", "2028-03-05 Sun (in 462 days, 330 of them Mon–Fri)"),
        ("29 November 2026", "2026-11-29 Sun"),
        (
            "库存清单，2026 年 6 月 13 日制表；6 月 10 日停电通知。",
            "2026-06-10 Wed (past, 172 days ago), 2026-06-13 Sat (past, 169 days ago)",
        ),
        (
            "Letter of 12 November 2025: to be paid by 15 January.",
            "2025-11-12 Wed (past, 382 days ago), 2026-01-15 Thu (past, 318 days ago)",
        ),
        (
            "Of 2 May 2019 and 3 May 2026; repeat by 5 March.",
            "2019-05-02 Thu (past, 2768 days ago), 2026-05-03 Sun (past, 210 days ago), "
            "2027-03-05 Fri (in 96 days, 70 of them Mon–Fri), or 2026-03-05 Thu",
        ),
        ("11月24日到30日", "2026-11-24 Tue (past, 5 days ago)"),
        ("Due 1 December", "2026-12-01 Tue (in 2 days, 2 of them Mon–Fri)"),
        ("Ends 30 November", "2026-11-30 Mon (in 1 day, 1 of them Mon–Fri)"),
        ("About 13,000 a month in November and December. 3. Offer of Otterbein is in.", ""),
        ("It lasts until May. 4. Quality: see memo.", ""),
        ("On Dec. 3 we met.", "2026-12-03 Thu (in 4 days, 4 of them Mon–Fri)"),
        ("In March 2027, on 30 February, at 8.", ""),
        (
            "In 2025 the market was open from 28 November to 22 December.",
            "2025-11-28 Fri (past, 366 days ago), 2025-12-22 Mon (past, 342 days ago)",
        ),
        (
            "Weihnachtsmarkt 2025: 28. November bis 6. Januar",
            "2025-11-28 Fri (past, 366 days ago), 2026-01-06 Tue (past, 327 days ago)",
        ),
        (
            "The dates of 2026 were not found; it ran from 28 November to 22 December in 2025.",
            "2025-11-28 Fri (past, 366 days ago), 2025-12-22 Mon (past, 342 days ago)",
        ),
        (
            "Nothing is known of 2026, it ran from 28 November to 6 January 2026.",
            "2025-11-28 Fri (past, 366 days ago), 2026-01-06 Tue (past, 327 days ago)",
        ),
        (
            "OPENING HOURS 2022: 1 Jan, closed. 15 Apr, closed. 6 Dec, closed.\n\nOpen on 2 May.",
            "2022-01-01 Sat (past, 1793 days ago), 2022-04-15 Fri (past, 1689 days ago), "
            "2022-05-02 Mon (past, 1672 days ago), 2022-12-06 Tue (past, 1454 days ago)",
        ),
        (
            "Hours in 2022\n1 Jan: closed.\n6 Dec: closed.",
            "2022-01-01 Sat (past, 1793 days ago), 2022-12-06 Tue (past, 1454 days ago)",
        ),
        ("It began in 2025. Open on 1 December.", "2026-12-01 Tue (in 2 days, 2 of them Mon–Fri)"),
        ("2000 visitors came on 28 November.", "2026-11-28 Sat (past, 1 day ago)"),
        ("2024年的会议在8月3日举行。", "2024-08-03 Sat (past, 848 days ago)"),
    ],
)
def test_each_day_is_told_with_its_weekday_and_how_far_it_is(text: str, named: str) -> None:
    assert days_told([text], NOW) == "; named: ".join(filter(None, ("2026-11-29 Sun", named)))


def test_of_many_days_the_nearest_are_told_in_their_order() -> None:
    days = [f"{day} {month} 2027" for month in ("March", "January") for day in range(1, 31)]
    told = days_told(days, NOW)
    assert told.count("(in") == 40
    assert told.index("2027-01-01") < told.index("2027-03-10")
    assert "2027-03-11" not in told


def test_of_a_list_of_days_that_are_over_the_last_ones_are_told() -> None:
    rows = [f"delivery {n}: 2026-{n % 9 + 1:02}-{n % 27 + 1:02}" for n in range(60)]
    told = days_told([*rows, "received by 2026-12-02"], NOW)
    assert told.count("past") == 10
    assert "2026-12-02 Wed" in told


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ("通报日期：2024年3月10日", "2024-03-10 Sun (past, 994 days ago), "
                                    "2024-08-03 Sat (past, 848 days ago)"),
        ("2023年和2024年的通报", ""),
        ("2024年和2026年的通报", "2026-08-03 Mon (past, 118 days ago), or 2027-08-03 Tue"),
    ],
)  # fmt: skip
def test_a_far_day_is_in_the_year_that_the_documents_name(other: str, named: str) -> None:
    told = days_told(["8月3日发生了什么？", other], NOW)
    assert told == "; named: ".join(filter(None, ("2026-11-29 Sun", named)))
