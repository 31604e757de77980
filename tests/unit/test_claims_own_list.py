"""A list of sources that a model wrote itself goes from a checked answer; ours follows."""

import asyncio

from agent.assistants.common.claims import ClaimCheck
from tests.unit.test_claims_judged import SOURCES, known


async def test_a_list_of_known_pages_at_the_end_goes_even_where_none_of_them_is_cited() -> None:
    check = ClaimCheck(asyncio.ensure_future(known()), [], SOURCES, "zh", None)
    body = "故宫周一闭馆。\n\n资料：\n- 甲，维基百科\n- a.example"
    await check.finish(body)
    assert check.finished(body, {}).text.startswith("故宫周一闭馆。")
    assert "维基百科" not in check.finished(body, {}).text
