"""What the application answers, and whom."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp
from tests.dashboard.dashboard_cases import event, hostile_event

from unskew.dashboard import feed as feed_module
from unskew.dashboard.application import make_app
from unskew.dashboard.feed import Feed
from unskew.dashboard.model import RunModel

TOKEN = "a-token-of-this-run"  # noqa: S105 (it opens nothing)
PROTECTED = ["/", "/api/state", "/api/latest", "/api/events", "/metrics", "/health"]


class Client:
    """Asks an application without a network."""

    def __init__(self, app: ASGIApp, base_url: str) -> None:
        self._app, self._base_url = app, base_url

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.request("GET", path, **more)

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app=self._app)
            async with httpx.AsyncClient(transport=transport, base_url=self._base_url) as client:
                return await client.request(method, self._base_url + path, **more)

        return asyncio.run(ask())


@pytest.fixture
def feed() -> Feed:
    shown = Feed(RunModel("run"))
    shown.publish(event("key", 3))
    shown.publish(event("wrap", 3, loads=(25, 25, 25, 25)))
    return shown


@pytest.fixture
def client(feed: Feed) -> Client:
    return Client(make_app(feed), base_url="http://127.0.0.1:4747")


@pytest.fixture
def guarded(feed: Feed) -> Client:
    return Client(make_app(feed, token=TOKEN), base_url="http://any.name:80")


def test_the_page_and_its_twins_are_there(client: Client, feed: Feed) -> None:
    assert "<title>unskew</title>" in client.get("/").text
    assert client.get("/api/state").json() == feed.state()
    assert client.get("/api/latest").json() == feed.state(latest_only=True)
    assert 'unskew_imbalance_percent{grouping="key"} 100.0' in client.get("/metrics").text


def test_all_that_the_page_names_is_served_and_nothing_is_elsewhere(client: Client) -> None:
    page = client.get("/").text
    named = [part.split('"')[0] for mark in ('src="', 'href="') for part in page.split(mark)[1:]]
    assert "static/plotly.js" in named
    for name in set(named):
        assert name.startswith("static/")
        assert client.get("/" + name).status_code == 200
    for name in ("page.js", "panels.js", "charts.js", "store.js", "dom.js", "format.js"):
        text = client.get(f"/static/{name}").text
        assert "innerHTML" not in text
        assert "http://" not in text.replace("http://www.w3.org", "")
        assert "https://" not in text


def test_every_answer_forbids_what_the_page_does_not_need(client: Client) -> None:
    for path in ["/", "/api/state", "/static/page.js", "/metrics", "/nothing"]:
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path",
    [
        "/static/",
        "/static",
        "/static/../model.py",
        "/static/%2e%2e/model.py",
        "/static/..%2fmodel.py",
        "/static/....//model.py",
        "/static//etc/passwd",
        "/static/%00",
        "/static/page.js/..",
        "/api/",
        "/api/../../../../etc/passwd",
        "/events.jsonl",
        "//etc/passwd",
        "/" + "a" * 20_000,
    ],
)
def test_no_path_reaches_the_disk_and_no_folder_is_listed(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert len(answer.content) < 100


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_the_server_only_answers_questions(client: Client, method: str) -> None:
    for path in ("/", "/api/state", "/metrics"):
        assert client.request(method, path, content=b"x" * 100_000).status_code == 405


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:4747", 200),
        ("localhost:4747", 200),
        ("localhost", 200),
        ("[::1]:4747", 200),
        ("attacker.example", 421),
        ("127.0.0.1.attacker.example:4747", 421),
        ("localhost@attacker.example", 421),
        ("", 421),
    ],
)
def test_without_a_token_only_names_of_this_machine_are_answered(
    client: Client, host: str, status: int
) -> None:
    for path in ("/", "/api/state", "/metrics"):
        assert client.get(path, headers={"host": host}).status_code == status


@pytest.mark.parametrize("path", PROTECTED)
@pytest.mark.parametrize(
    "query",
    [
        "",
        "?token=",
        "?token=wrong",
        f"?token={TOKEN}x",
        f"?tok={TOKEN}",
        "?token=%ff%fe",
        "?" + "a=1&" * 50,
    ],
)
def test_with_a_token_nothing_is_told_without_it(guarded: Client, path: str, query: str) -> None:
    answer = guarded.get(path + query)
    assert answer.status_code == 403
    assert answer.text.startswith("The address lacks its token")


def test_with_the_token_any_name_of_the_machine_will_do(guarded: Client) -> None:
    for path in ("/", "/api/state", "/metrics"):
        assert guarded.get(f"{path}?token={TOKEN}").status_code == 200
    assert guarded.get("/static/page.js").status_code == 200  # the same for all, no secret in it


def test_one_browser_too_many_is_sent_away(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "MOST_SUBSCRIBERS", 0)
    assert client.get("/api/events").status_code == 503


def test_hostile_text_leaves_as_json_and_as_metrics(client: Client, feed: Feed) -> None:
    feed.publish(hostile_event())
    answer = client.get("/api/state")
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(answer.content)["groupings"][2]["name"].startswith("<script>")
    lines = client.get("/metrics").text.splitlines()
    assert any('grouping="<script>window.hacked = 1</script>"' in line for line in lines)
    assert all(line.startswith(("#", "unskew_")) for line in lines)


def test_health_and_metrics_say_whether_the_page_still_follows(client: Client, feed: Feed) -> None:
    assert client.get("/health").json() == {"ok": True, "problem": None}
    assert "unskew_dashboard_healthy 1.0" in client.get("/metrics").text
    feed.end("the disk is gone")
    answer = client.get("/health")
    assert answer.status_code == 503
    assert answer.json() == {"ok": False, "problem": "the disk is gone"}
    assert "unskew_dashboard_healthy 0.0" in client.get("/metrics").text
