"""Export a finished answer as a file: GeoJSON, HTML, GPX, Markdown."""
