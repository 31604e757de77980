"""What imports may do; their direction is import-linter's to hold (`make check`)."""

from tests.architecture.environment import read_at_import
from tests.architecture.tree import imports


def test_no_module_imports_itself_through_others() -> None:
    graph = {name: imported & imports().keys() for name, imported in imports().items()}
    while leaves := [name for name, imported in graph.items() if not imported & graph.keys()]:
        for name in leaves:
            del graph[name]
    while tops := graph.keys() - {name for imported in graph.values() for name in imported}:
        for name in tops:
            del graph[name]
    assert sorted(graph) == []


def test_importing_a_module_reads_no_environment() -> None:
    """`os.environ` at module level would make an import depend on keys."""
    assert read_at_import() == []
