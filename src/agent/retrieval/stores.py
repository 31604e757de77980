"""Which knowledge base the settings ask for."""

from agent.retrieval.sqlite_store import SqliteKnowledgeStore
from agent.retrieval.types import KnowledgeStore
from agent.settings import Settings


def build_store(settings: Settings, *, embedder: str = "") -> KnowledgeStore:
    """The store of KNOWLEDGE_STORE, with vectors where an embedder's model is named.

    Nothing is opened yet. Raises ConfigurationError for Chroma without its extra or an embedder.
    """
    if settings.knowledge_store == "sqlite":
        return SqliteKnowledgeStore(settings.tanlu_data_dir, embedder=embedder)
    from agent.retrieval.chroma_store import ChromaKnowledgeStore

    return ChromaKnowledgeStore(settings.tanlu_data_dir, embedder=embedder, url=settings.chroma_url)
