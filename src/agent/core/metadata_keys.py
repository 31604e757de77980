"""Name the keys of this program in the metadata of threads, runs, assistants and crons."""

MARK = "tanlu_run"
"""Of a continued run: the id under which it was first accepted. Clients that go on may set it."""
OWNER = "tanlu_owner"
"""Whose key it was made with; the server's rules set it, and nobody else can."""
EVERYBODY = "*"
"""The caller of an open server, where its engine wants a name; no owner can have it."""
OF_THREAD = ("title", "asked_over")
"""Of a thread: its name in lists, and where it was begun. Runs may carry them for one made anew."""
