"""Questions on the sample's documents, and how well the knowledge base finds their answers."""
