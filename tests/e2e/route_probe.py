"""Our application with one more route, which lists every route of the server that took it over."""

from collections.abc import Iterable, Iterator

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute

from agent.engines.langgraph.app import app


async def _list(request: Request) -> JSONResponse:
    return JSONResponse(list(_flat(request.app.routes)))


def _flat(routes: Iterable[BaseRoute], below: str = "") -> Iterator[tuple[str, str]]:
    for route in routes:
        if isinstance(route, Mount):
            yield from _flat(route.routes, below + route.path)
        elif isinstance(route, WebSocketRoute):
            yield "WEBSOCKET", below + route.path
        elif isinstance(route, Route):
            methods = route.methods or {"GET", "POST", "DELETE"}
            yield from ((method, below + route.path) for method in sorted(methods))
        else:
            yield "UNKNOWN", repr(route)


# As somebody adds a route one day, without a thought of who may call it.
app.router.routes.append(Route("/probe/routes", _list))
