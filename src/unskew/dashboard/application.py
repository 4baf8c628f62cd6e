"""What the server answers: the page, its JSON twins, a stream of changes, metrics."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from unskew.dashboard.assets import PAGE, load_assets
from unskew.dashboard.feed import Feed
from unskew.dashboard.guard import STATIC, Guard
from unskew.dashboard.prometheus import metrics_text

_HEARTBEAT_SECONDS = 15.0
_ONE_HOUR = "private, max-age=3600"


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
