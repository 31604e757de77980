"""JSON from outside is read in one place, which knows how deep and how large it may be."""

import ast

from tests.architecture.tree import modules, nodes

OWN = {
    "agent.core.outside": "the place",
    "agent.assistants.common.workspace": "a row of our database",
    "agent.batch.disk": "files of ours",
    "agent.batch.records": "only where the elements of an array end",
    "agent.cli.serve": "langgraph.json",
    "agent.evidence.vocabulary": "a table of the package",
    "agent.evidence.records": "a table of the package",
    "agent.evidence.way_steps": "a table of the package",
    "agent.knowledge.embeddings": "a reply as we kept it",
    "agent.knowledge.file_worker": "a line of the parent process",
    "agent.knowledge.readers": "a line of our worker",
    "agent.knowledge.rerank": "a reply as we kept it",
    "agent.knowledge.sqlite_search": "columns of our database",
    "agent.mcp.map_server": "a table of the package",
    "agent.models.client": "an answer as we kept it",
    "agent.reading.worker": "a line of the parent process",
    "agent.reading.workers": "a line of our worker",
    "agent.runs.run_log": "columns of our database",
    "agent.sandbox.child": "a line of the parent process",
    "agent.search.akshare": "a reply as we kept it",
    "agent.search.akshare_worker": "a line of the parent process",
    "agent.search.documents": "a reply as we kept it",
    "agent.search.hits": "a reply as we kept it",
    "agent.search.sec_edgar": "a reply as we kept it",
    "agent.search.tavily": "a reply as we kept it",
}
"""Modules that read JSON by themselves, because they or this process wrote it."""


def reads_json(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    of_library = ast.unparse(node.func) in ("json.loads", "json.load", "json.JSONDecoder")
    return of_library or (node.func.attr == "json" and not node.args and not node.keywords)


def test_json_that_somebody_else_wrote_is_read_in_one_place() -> None:
    readers = {
        name
        for name, path in modules().items()
        if not name.startswith("agent.sample") and any(map(reads_json, nodes(path)))
    }
    assert readers == OWN.keys()
