"""Answer as a model that quotes its sources and says what it cannot do.

It reads a request's task name, its tagged records and its JSON schema, never a prompt's wording.
"""
