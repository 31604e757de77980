"""A dossier from papers, filings, the web and own documents, task by task."""
