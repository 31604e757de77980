"""Who calls, and what of the server's own API is theirs."""

from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from starlette.requests import Request


def client_for(request: Request) -> LangGraphClient:
    """The server's own API, in process, as far as the caller of `request` may use it.

    The one place for access checks of what `serving` offers: everything it lists, reads, starts
    and cancels goes through the client returned here. Open for now, as the whole server is: this
    client passes by the server's own authentication, so with keys it must carry the caller's.
    """
    return get_client()
