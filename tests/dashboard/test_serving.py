"""The server itself: ports, threads, files that grow."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from tests.dashboard.dashboard_cases import event

from unskew.dashboard import _impatient, serving
from unskew.dashboard.feed import Feed
from unskew.dashboard.following import FolderFollower, serve_folder
from unskew.dashboard.model import RunModel
from unskew.dashboard.serving import BusyPortError, DashboardServer, open_socket
from unskew.errors import InvalidParameterError
from unskew.events import EVENTS_FILE, RunRecordError, append_epoch, line_of, record


def read_json(url: str) -> dict[str, Any]:
    with urlopen(url, timeout=10) as answer:  # noqa: S310 (our own server)
        found: dict[str, Any] = json.load(answer)
        return found


def has_read(url: str, batches: int) -> bool:
    return bool(read_json(url)["sequence"] == batches)


def wait_for(happened: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.02)


def add_text(folder: Path, text: str) -> None:
    with (folder / EVENTS_FILE).open("a") as file:
        file.write(text)


@contextmanager
def open_events(port: int) -> Iterator[HTTPResponse]:
    with closing(HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        connection.request("GET", "/api/events")
        with connection.getresponse() as answer:
            assert answer.readline() == b"retry: 1000\n"
            assert answer.readline() == b"\n"
            yield answer


def test_a_closed_server_has_freed_its_port_and_ended_its_threads() -> None:
    before = set(threading.enumerate())
    server = DashboardServer(Feed(RunModel("run")), port=0)
    with open_events(server.port) as watching:
        started = set(threading.enumerate()) - before
        assert "unskew-dashboard" in {thread.name for thread in started}
        server.close()
        assert watching.read() == b""  # the browser was sent home, not left hanging
    with open_socket("127.0.0.1", server.port):
        pass
    wait_for(lambda: not any(thread.is_alive() for thread in started))
    server.close()


def test_changes_are_pushed_without_being_asked_for() -> None:
    feed = Feed(RunModel("run"))
    with DashboardServer(feed, port=0) as server, open_events(server.port) as watching:
        feed.publish(event("key", 5))
        assert watching.readline() == b"event: update\n"
        update = json.loads(watching.readline().removeprefix(b"data: "))
        assert update["frame"]["batch"] == 5


def test_browsers_that_never_read_do_not_hold_up_who_publishes() -> None:
    feed = Feed(RunModel("run"))
    big = event("key", loads=tuple(range(64)), why="x" * 300)
    with DashboardServer(feed, port=0) as server, ExitStack() as watching:
        for _ in range(3):
            watching.enter_context(open_events(server.port))
        for batch in range(500):
            feed.publish(event(batch=batch, loads=big.loads, why=big.why))
        assert read_json(server.url + "api/latest")["sequence"] == 500


def test_the_port_that_was_asked_for_is_used_or_named_as_busy() -> None:
    with DashboardServer(Feed(RunModel("run")), port=0) as server:
        with pytest.raises(BusyPortError, match=f"port {server.port} .*busy.*Hint"):
            DashboardServer(Feed(RunModel("run")), port=server.port)
        assert read_json(server.url + "api/latest")["sequence"] == 0


def test_where_no_port_was_asked_for_the_next_one_is_taken_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with open_socket("127.0.0.1", 0) as taken:
        first = taken.getsockname()[1]
        monkeypatch.setattr(serving, "FIRST_PORT", first)
        with open_socket("127.0.0.1", None) as found:
            assert found.getsockname()[1] != first


@pytest.mark.parametrize("port", [-1, 65536, "80", 1.5])
def test_what_is_no_port_is_refused(port: Any) -> None:
    with pytest.raises(InvalidParameterError, match="port"):
        open_socket("127.0.0.1", port)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1", "a" * 300])
def test_what_is_no_address_of_this_machine_is_refused(host: str) -> None:
    with pytest.raises(InvalidParameterError, match="host"):
        open_socket(host, 0)


def test_by_default_only_this_machine_can_connect_and_a_host_brings_a_token() -> None:
    with DashboardServer(Feed(RunModel("run")), port=0) as server:
        assert server.url == f"http://127.0.0.1:{server.port}/"
        assert server._socket.getsockname()[0] == "127.0.0.1"
    with DashboardServer(Feed(RunModel("run")), host="127.0.0.1", port=0) as server:
        bare, _, token = server.url.partition("?token=")
        assert len(token) >= 32
        with pytest.raises(HTTPError, match="403"):
            read_json(bare + "api/latest")
        assert read_json(f"{bare}api/latest?token={token}")["sequence"] == 0


@pytest.mark.parametrize(
    "path", ["/../../../etc/passwd", "/static/../../model.py", "/static/%2e%2e/"]
)
def test_a_path_as_no_browser_would_send_it_reaches_no_file(path: str) -> None:
    with (
        DashboardServer(Feed(RunModel("run")), port=0) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw,
    ):
        raw.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        assert b" 404 " in raw.recv(100)


def test_oversized_requests_are_refused() -> None:
    with DashboardServer(Feed(RunModel("run")), port=0) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
            raw.sendall(b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n")
            assert b" 400 " in raw.recv(100)
        assert read_json(server.url + "api/latest")["sequence"] == 0


def test_a_folder_is_followed_while_it_grows_even_if_it_comes_later(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    with serve_folder(folder, port=0) as page:
        latest = page.url + "api/latest"
        assert read_json(latest)["groupings"] == []
        for batch in range(3):
            append_epoch(folder, event("wrap", batch))
            wait_for(partial(has_read, latest, batch + 1))
        with open_events(page.port) as watching:
            page.close()
            assert b"event: end\n" in watching.read()


def test_a_replay_shows_all_and_counts_what_was_damaged(tmp_path: Path) -> None:
    append_epoch(tmp_path, event("wrap", 0))
    add_text(tmp_path, "garbage\n" + line_of(event("wrap", 1)) + "\n{cut")
    with serve_folder(tmp_path, mode="replay", port=0) as page:
        state = read_json(page.url + "api/state")
    assert [frame["batch"] for frame in state["groupings"][0]["frames"]] == [0, 1]
    assert (state["mode"], state["dropped"]) == ("replay", 1)


def test_a_long_record_is_on_the_page_before_it_is_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for batch in range(50):
        append_epoch(tmp_path, event("wrap", batch))
    monkeypatch.setattr(record, "_MOST_BYTES_PER_POLL", 5 * len(line_of(event())))
    feed = Feed(RunModel("run", "replay"))
    follower = FolderFollower(tmp_path, feed)
    follower.begin()
    assert 0 < feed.state()["sequence"] < 10
    follower.start()
    wait_for(lambda: feed.state()["sequence"] == 50)
    follower.close()
    assert feed.state()["ended"]


def test_nothing_to_replay_is_refused_before_a_port_is_opened(tmp_path: Path) -> None:
    with pytest.raises(RunRecordError, match="events"):
        serve_folder(tmp_path, mode="replay", port=0)
    (tmp_path / EVENTS_FILE).write_text(line_of(event()).replace('"schema": 1', '"schema": 9'))
    with pytest.raises(RunRecordError, match="no micro-batch"):
        serve_folder(tmp_path, mode="replay", port=0)


def test_a_newer_version_that_comes_while_watching_is_told_on_the_page(tmp_path: Path) -> None:
    append_epoch(tmp_path, event())
    with serve_folder(tmp_path, port=0) as page:
        newer = line_of(event()).replace('"schema": 1', '"schema": 9')
        add_text(tmp_path, newer + "\n")
        wait_for(lambda: read_json(page.url + "api/latest")["ended"])
        assert "schema 9" in read_json(page.url + "api/latest")["problem"]


def test_a_thread_that_dies_shows_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("nobody thought of this")

    append_epoch(tmp_path, event())
    with serve_folder(tmp_path, port=0) as page:
        wait_for(lambda: has_read(page.url + "api/latest", 1))
        monkeypatch.setattr(Feed, "publish", fail)
        append_epoch(tmp_path, event(batch=1))
        wait_for(lambda: read_json(page.url + "api/latest")["ended"])
        problem = read_json(page.url + "api/latest")["problem"]
    assert "nobody thought of this" in problem
    assert "nobody thought of this" in caplog.text


def test_requests_that_are_never_completed_do_not_lock_others_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_impatient, "SECONDS_FOR_A_REQUEST", 0.3)
    with DashboardServer(Feed(RunModel("run")), port=0) as server, ExitStack() as opened:
        for _ in range(200):
            half = opened.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            half.sendall(b"GET / HTTP/1.1\r\nHost: 127.0")
        half.settimeout(20)
        assert half.recv(1 << 16) == b""  # closed, though it has not waited for an answer
        wait_for(lambda: answers(server.url + "api/latest"))


def answers(url: str) -> bool:
    try:
        return "sequence" in read_json(url)
    except (HTTPError, OSError):
        return False
