"""Answer requests: the page, its JSON twins, a stream of changes, metrics.

This machine alone may ask, or whoever has the token. The files of the page are read once: no
address ever reaches the disk.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import cache
from importlib import resources
from typing import NamedTuple
from urllib.parse import parse_qs

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unskew.dashboard.feed import Feed
from unskew.dashboard.prometheus import metrics_text
from unskew.errors import MissingExtraError

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
PAGE = "index.html"
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
_HEARTBEAT_SECONDS = 15.0
_ONE_HOUR = "private, max-age=3600"


class Asset(NamedTuple):
    """A file as it is served."""

    content: bytes
    media_type: str


@cache
def load_assets() -> dict[str, Asset]:
    """Return all files by name, plotly.js among them.

    Raises
    ------
    MissingExtraError
        If plotly is not installed.

    Examples
    --------
    >>> load_assets()["index.html"].media_type
    'text/html; charset=utf-8'
    """
    folder = resources.files("unskew.dashboard") / "static"
    found = {
        file.name: Asset(file.read_bytes(), _TYPES[file.name.rpartition(".")[2]])
        for file in folder.iterdir()
        if file.name.rpartition(".")[2] in _TYPES
    }
    return {**found, "plotly.js": Asset(_plotly_js(), _TYPES["js"])}


def _plotly_js() -> bytes:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise MissingExtraError("the dashboard", "plotly", "plots") from None
    return str(get_plotlyjs()).encode()


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


def make_app(feed: Feed, *, token: str | None = None) -> ASGIApp:
    """Return the application that shows ``feed``.

    Parameters
    ----------
    feed
        What is shown.
    token
        What addresses have to contain; None where only this machine can connect.
    """
    answers = _Answers(feed)
    routes = {
        "/": answers.page,
        STATIC + "{name}": answers.static,
        "/api/state": answers.state,
        "/api/latest": answers.latest,
        "/api/events": answers.events,
        "/metrics": answers.metrics,
        "/health": answers.health,
    }
    listed = [Route(path, answer, methods=["GET"]) for path, answer in routes.items()]
    app = Starlette(routes=listed)
    app.router.redirect_slashes = False  # an address is right or it is not there
    return Guard(app, token=token)


class _Answers:
    """One method an address; those that are not coroutines run in threads."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._assets = load_assets()

    def page(self, _request: Request) -> Response:
        page = self._assets[PAGE]
        return Response(page.content, media_type=page.media_type)

    def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        asset = self._assets.get(name)
        if asset is None:
            return PlainTextResponse("No such page.\n", status_code=404)
        headers = {"cache-control": _ONE_HOUR} if name == "plotly.js" else {}
        return Response(asset.content, media_type=asset.media_type, headers=headers)

    def state(self, _request: Request) -> Response:
        return JSONResponse(self._feed.state())

    def latest(self, _request: Request) -> Response:
        return JSONResponse(self._feed.state(latest_only=True))

    def metrics(self, _request: Request) -> Response:
        return Response(metrics_text(self._feed), media_type=CONTENT_TYPE_LATEST)

    def health(self, _request: Request) -> Response:
        problem = self._feed.problem
        return JSONResponse(
            {"ok": problem is None, "problem": problem}, status_code=503 if problem else 200
        )

    async def events(self, _request: Request) -> Response:
        if self._feed.is_full:
            return PlainTextResponse("Too many browsers watch already.\n", status_code=503)
        return StreamingResponse(_messages(self._feed), media_type="text/event-stream")


async def _messages(feed: Feed) -> AsyncIterator[str]:
    """Yield what changes, and now and then a comment by which a browser knows that all is well."""
    subscription = feed.subscribe()
    try:
        yield "retry: 1000\n\n"
        while True:
            message: str | None = ": all is well\n\n"
            with suppress(TimeoutError):
                message = await asyncio.wait_for(subscription.next_message(), _HEARTBEAT_SECONDS)
            if message is None:
                return
            yield message
    finally:
        feed.unsubscribe(subscription)
