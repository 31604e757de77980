"""The form that a question is read into: of a first one without what nothing can be changed by."""

import json

from agent.assistants.common.forms import SearchQueryList
from agent.assistants.common.question import FirstQueryList
from agent.models.validation import schema_of


def test_a_first_question_is_not_asked_how_a_planned_day_is_to_change() -> None:
    first, later = json.dumps(schema_of(FirstQueryList)), json.dumps(schema_of(SearchQueryList))
    assert '"changes"' not in first
    assert '"changes"' in later
    written = FirstQueryList.model_validate({"query": [], "outing": {"begins": "10:00"}})
    assert written.outing is not None
    assert written.outing.changes == []
