"""A finished answer as a file: GeoJSON, HTML, GPX, Markdown."""
