"""Search the web: providers of hits, and grounded research over them."""
