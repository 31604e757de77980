"""Hold what a server loads: its application, checkpointer and patches."""
