"""The check of claims: sentences of an answer against what its sources say."""
