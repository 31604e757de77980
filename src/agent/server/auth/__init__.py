"""Authenticate the callers of this server, and authorize what they ask for."""

from agent.server.auth.authorization import auth

__all__ = ["auth"]
