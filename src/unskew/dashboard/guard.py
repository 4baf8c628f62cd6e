"""Who may ask: this machine alone, or whoever has the token; and what browsers may do with it."""

import secrets
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

STATIC = "/static/"

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_HEADERS = {
    # Plotly styles its charts with a style element of its own; scripts come from files alone.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",  # the token is in the address
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Let requests through to an application, or refuse them.

    Parameters
    ----------
    app
        The application.
    token
        What the address has to contain as ``token=…``; None where only this machine can connect.
        Then the name that a browser used for it must be one of this machine: a page from elsewhere
        that had its own name point here would otherwise be let in. Static files are the same for
        all and need no token.
    """

    def __init__(self, app: ASGIApp, *, token: str | None) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        app = self._app if refusal is None else refusal
        await app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        if self._token is None:
            if _name_of(Headers(scope=scope).get("host", "")) not in _LOOPBACK:
                return PlainTextResponse("Not a name of this machine.\n", status_code=421)
            return None
        if scope["path"].startswith(STATIC) or self._has_token(scope):
            return None
        return PlainTextResponse(
            "The address lacks its token: take it from where the page was started.\n",
            status_code=403,
        )

    def _has_token(self, scope: Scope) -> bool:
        query = scope["query_string"].decode("latin-1")
        try:
            given = parse_qs(query, max_num_fields=20).get("token", [""])[0]
        except ValueError:  # too many fields
            return False
        return secrets.compare_digest(given.encode("utf-8", "replace"), str(self._token).encode())


def _name_of(host: str) -> str:
    """Return a Host header without its port.

    >>> _name_of("localhost:4747"), _name_of("[::1]:80"), _name_of("[::1]")
    ('localhost', '[::1]', '[::1]')
    """
    name, _, port = host.rpartition(":")
    return name if name and port.isdigit() and not name.endswith(":") else host


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
