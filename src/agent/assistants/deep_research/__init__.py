"""The assistant `deep_research`: long research inside a bounded context, ending in a report."""
