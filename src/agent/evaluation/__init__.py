"""Judge answers by our own rubric, compare two configurations, and tell both in one small card."""
