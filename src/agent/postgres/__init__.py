"""Threads, runs and paid replies in a Postgres database (`tanlu[postgres]`, DATABASE_URL).

Nothing here is imported before a DATABASE_URL is used, and then in a thread of its own: importing
psycopg takes seconds. Why locks and not heartbeats: docs/decisions/0011-memory-on-postgres.md.
"""
