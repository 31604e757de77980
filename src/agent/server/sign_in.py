"""Sign the page in: a key becomes a cookie that no script reads and no other site sends."""

from math import ceil

from starlette.requests import Request
from starlette.responses import Response

from agent.core.outside import parse_json
from agent.server.auth.api_keys import COOKIE, TOO_MANY, access, identify
from agent.server.auth.audit import audit
from agent.server.auth.guard import RateLimit, peer_of
from agent.server.auth.hosts import is_loopback
from agent.server.http import NotRead, limited_body, private_json

_LONGEST_BODY = 4096
_DAYS_30 = 30 * 24 * 3600


class SignIn:
    """Serve the routes; `tries` are the wrong keys that came any other way, too."""

    def __init__(self, rate_limit: RateLimit | None = None) -> None:
        self._rate_limit = rate_limit or RateLimit()

    async def sign_in(self, request: Request) -> Response:
        """Answer the cookie for a key sent as JSON; 401 for a wrong key, 429 after too many."""
        rules = access()
        if rules.open:
            return private_json({"user": None})
        peer, most = peer_of(request), rules.wrong_keys
        if wait := self._rate_limit.wait(peer, most):
            return _must_wait(wait)
        try:
            key = await _key(request)
        except ValueError as error:
            return private_json({"detail": str(error)}, 400)
        # Others that this peer sent may have been found wrong while this one came.
        if wait := self._rate_limit.wait(peer, most):
            return _must_wait(wait)
        user = rules.owner_of(key)
        if user is None:
            self._rate_limit.count(peer, key)
            await audit("sign_in", "refused", "", peer=peer)
            return private_json({"detail": "this key is not known here"}, 401)
        await audit("sign_in", "accepted", user, peer=peer)
        response = private_json({"user": user})
        _set_cookie(response, request, key, _DAYS_30)
        return response

    async def sign_out(self, request: Request) -> Response:
        """Forget the cookie."""
        if owner := identify(request.headers, access()):
            await audit("sign_out", "accepted", owner)
        response = private_json({"user": None})
        _set_cookie(response, request, "", 0)
        return response


async def _key(request: Request) -> str:
    """Return the key that was sent; raise ValueError saying what is wrong with the request."""
    hint = 'send {"key": "…"} as application/json'
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise ValueError(hint)
    try:
        body = parse_json(await limited_body(request, _LONGEST_BODY))
    except (NotRead, ValueError):
        raise ValueError(hint) from None
    key = body.get("key") if isinstance(body, dict) else None
    if not isinstance(key, str) or not key.strip():
        raise ValueError(hint)
    return key.strip()


def _set_cookie(response: Response, request: Request, key: str, seconds: int) -> None:
    response.set_cookie(
        COOKIE,
        key,
        max_age=seconds,
        path="/",
        secure=_is_https(request),
        httponly=True,
        samesite="strict",
    )


def _is_https(request: Request) -> bool:
    """Return whether the browser speaks https; a proxy is believed only on this machine."""
    if request.url.scheme == "https":
        return True
    forwarded = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
    return forwarded == "https" and request.client is not None and is_loopback(request.client.host)


def _must_wait(seconds: float) -> Response:
    waiting = {"Retry-After": str(ceil(seconds))}
    return private_json({"detail": TOO_MANY}, 429, waiting)
