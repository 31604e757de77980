"""Web search: providers of hits, and grounded research over them."""
