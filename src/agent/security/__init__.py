"""Who may call this server, and what is theirs."""

from agent.security.rules import auth

__all__ = ["auth"]
