"""What imports may do; their direction is import-linter's to hold (`make check`)."""

from graphlib import TopologicalSorter

from tests.architecture.environment import read_at_import
from tests.architecture.tree import imports


def test_no_module_imports_itself_through_others() -> None:
    """Else the sorter raises an error that names the circle."""
    graph = {name: imported & imports().keys() for name, imported in imports().items()}
    TopologicalSorter(graph).prepare()


def test_importing_a_module_reads_no_environment() -> None:
    """`os.environ` at module level would make an import depend on keys."""
    assert read_at_import() == []
