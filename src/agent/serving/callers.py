"""Who calls, and what of the server's own API is theirs."""

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from starlette.requests import Request

from agent.security.access import access

_CARRIED = ("x-api-key", "authorization", "cookie")
_IN_PROCESS = ("in process", 0)
"""An address of its own: wrong keys from others must not be in the way of its right one."""
_WAITS = httpx.Timeout(connect=5, read=300, write=300, pool=5)
"""As the SDK's own client; a run's stream is never silent for so long."""


def client_for(request: Request) -> LangGraphClient:
    """The server's own API, in process, as far as the caller of `request` may use it.

    The one place for access checks of what `serving` offers: everything it lists, reads, starts
    and cancels goes through the client returned here. With keys it is a caller like any other and
    carries the request's own; the SDK's in-process client would pass by every rule.
    """
    if access().open:
        return get_client()
    # The server's transport: httpx's own gives an answer only when it has ended.
    from langgraph_api.asgi_transport import ASGITransport  # type: ignore[import-untyped]

    carried = {name: request.headers[name] for name in _CARRIED if name in request.headers}
    transport = ASGITransport(request.app, client=_IN_PROCESS)
    return LangGraphClient(
        httpx.AsyncClient(
            base_url="http://localhost", transport=transport, headers=carried, timeout=_WAITS
        )
    )
