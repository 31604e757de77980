"""Who may call this server, and what is theirs."""
