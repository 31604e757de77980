"""Documents kept, found and put in order: the knowledge base and reranking."""
