"""The blocks each prompt is made of."""

BLOCKS = {
    "generate_query": "today count conversation previous_sources previous_places planned_day"
    " user_location question",
    "web_research": "today query",
    "amap_research": "query centre tried places routes weather more",
    "reflection": "today conversation previous_sources previous_places asked findings sources"
    " places routes weather gaps map_calls_left limit asked_as question",
    "answer": "today conversation question asked_as findings sources places routes weather outing"
    " gaps previous_sources previous_places planned_day",
    "continue_answer": "cut_off last_words",
    "claim_check": "today question passages statements",
    "revise": "documents today differences plan sources draft words review failed lookups"
    " looked_up edits_so_far question phase",
    "deep_plan": "today conversation previous collections limit question",
    "deep_explore": "documents question today conversation previous plan topics_done notes"
    " workspace topic left",
    "deep_find": "question today topic found results",
    "deep_compress": "question topic words pages",
    "deep_review": "today previous plan topics pages left question",
    "deep_report": "today conversation previous documents differences topics pages gaps question",
    "team_analyze": "today conversation format_requirement tools question",
    "team_select": "question speakers transcript candidates",
    "team_turn": "documents today question asked format_requirement sub_questions previous"
    " hypotheses gaps transcript evidence rounds_left reminder",
    "team_synthesize": "documents today question asked format_requirement sub_questions previous"
    " hypotheses transcript evidence gaps",
    "team_format": "question format_requirement answer",
    "plan_tasks": "today conversation previous mode limit sources unavailable collections question",
    "wish_tasks": "today limit tasks question wishes",
    "task_queries": "today question task planned earlier",
    "execute_decide": "today question task earlier tools_left",
    "rewrite_headings": "question headings",
    "judge_answer": "question expected answer",
    "judge_report": "question report",
    "own_differences": "documents today question",
    "dossier": (
        "today conversation previous documents differences tasks passages figures places gaps"
        " question"
    ),
}
HUMAN = dict.fromkeys(("team_researcher", "team_analyst", "team_verifier"), "team_turn")
"""Tasks whose human message is another prompt's."""
