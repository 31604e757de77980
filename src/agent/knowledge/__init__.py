"""Keep documents, search them and rank the results: the knowledge base."""
