"""Decide who may call this server, and what is theirs."""

from agent.server.auth.authorization import auth

__all__ = ["auth"]
