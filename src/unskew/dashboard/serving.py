"""Serve the page from a thread of its own, until whoever started it closes it."""

import errno
import secrets
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from unskew._validation import check_int
from unskew.dashboard.feed import Feed
from unskew.errors import InvalidParameterError, MissingExtraError, UnskewError

LOOPBACK = "127.0.0.1"
FIRST_PORT = 4747
_TRIES = 20
_SECONDS_TO_START, _SECONDS_TO_STOP = 20.0, 10.0
_MOST_CONNECTIONS = 128


class Closeable(ABC):
    """A context manager that closes itself.

    Examples
    --------
    >>> class Lamp(Closeable):
    ...     def close(self):
    ...         print("off")
    >>> with Lamp():
    ...     print("on")
    on
    off
    """

    @abstractmethod
    def close(self) -> None:
        """Stop, and free what was taken; calling it again does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class BusyPortError(UnskewError, OSError):
    """The port that was asked for belongs to somebody else."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        super().__init__(
            f"dashboard: port {port} of {host} is busy. "
            "Hint: stop what listens there, give another --port, or none to take the next free one."
        )

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.host, self.port))


def open_socket(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens on ``port``; on the first free one from 4747 on if it is None.

    Raises
    ------
    BusyPortError
        If the port that was asked for is taken.
    InvalidParameterError
        If the host is none of this machine, or the port is no port that we may open.

    Examples
    --------
    >>> with open_socket("127.0.0.1", 0) as listening:
    ...     open_socket("127.0.0.1", listening.getsockname()[1])
    Traceback (most recent call last):
    unskew.dashboard.serving.BusyPortError: dashboard: port 40000 of 127.0.0.1 is busy. Hint: …
    """
    if port is not None:
        return _listening(host, check_int("dashboard", "port", port, minimum=0, maximum=65535))
    return _first_free(host, [*range(FIRST_PORT, FIRST_PORT + _TRIES), 0])


def _first_free(host: str, ports: Iterable[int]) -> socket.socket:
    for port in ports:
        try:
            return _listening(host, port)
        except BusyPortError:
            continue
    raise BusyPortError(host, FIRST_PORT)


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise InvalidParameterError(
            "dashboard", "host", "a name or address of this machine", host
        ) from None
    opened = socket.socket(family, kind)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(128)
    except OSError as error:
        opened.close()
        raise _refused(host, port, error) from None
    return opened


def _refused(host: str, port: int, error: OSError) -> UnskewError:
    if error.errno == errno.EADDRINUSE:
        return BusyPortError(host, port)
    if error.errno == errno.EACCES:
        return InvalidParameterError("dashboard", "port", "a port that you may open", port)
    hint = "0.0.0.0 stands for all addresses of this machine"
    return InvalidParameterError("dashboard", "host", "an address of this machine", host, hint=hint)


class DashboardServer(Closeable):
    """The page of a feed, on a port of this machine; it is there once the object is.

    Parameters
    ----------
    feed
        What is shown.
    host
        The address to listen on. Left out, only this machine can connect. Given, whoever knows the
        address with its token can.
    port
        The port, 0 for any; by default 4747 or the next free one.

    Attributes
    ----------
    url : str
        The address for a browser, with the token if there is one.
    note : str or None
        What a user should know, such as that 4747 was busy.

    Raises
    ------
    BusyPortError
        If the port that was asked for is taken.
    MissingExtraError
        If the libraries of the dashboard are not installed.

    Examples
    --------
    >>> from urllib.request import urlopen
    >>> from unskew.dashboard.model import RunModel
    >>> with DashboardServer(Feed(RunModel("an example")), port=0) as server:
    ...     urlopen(server.url + "api/latest").status
    200
    """

    def __init__(self, feed: Feed, *, host: str | None = None, port: int | None = None) -> None:
        self.feed = feed
        self.token = None if host is None else secrets.token_urlsafe(24)
        self._server = _make_server(feed, self.token)
        self._socket = open_socket(host or LOOPBACK, port)
        self.port = int(self._socket.getsockname()[1])
        self.url = _address(self._socket, self.token)
        self.note = _note(port, self.port)
        self._thread = threading.Thread(target=self._run, name="unskew-dashboard", daemon=True)
        self._thread.start()
        self._wait_until_started()

    def close(self) -> None:
        """Send all browsers home and free the port; calling it again does nothing."""
        self.feed.close()
        self._server.should_exit = True
        if self._thread is not threading.current_thread():
            self._thread.join(_SECONDS_TO_STOP)
        self._socket.close()

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def _wait_until_started(self) -> None:
        waited = 0.0
        while not self._server.started:
            self._thread.join(0.01)
            waited += 0.01
            if not self._thread.is_alive() or waited > _SECONDS_TO_START:
                self.close()
                raise UnskewError(f"dashboard: the server on port {self.port} did not start.")

    def __repr__(self) -> str:
        return f"DashboardServer({self.url})"


def _make_server(feed: Feed, token: str | None) -> Any:
    """Return a uvicorn server that does not run yet."""
    try:
        import uvicorn

        from unskew.dashboard._impatient import ImpatientProtocol
        from unskew.dashboard.application import make_app
    except ModuleNotFoundError as error:
        raise MissingExtraError("the dashboard", str(error.name), "dashboard") from None
    config = uvicorn.Config(
        make_app(feed, token=token),
        http=ImpatientProtocol,
        log_config=None,  # a program's own logging stays as it is
        log_level="error",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config)


def _address(listening: socket.socket, token: str | None) -> str:
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 (it is compared, nothing is bound to it here)
        host = socket.gethostname()
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" + (f"?token={token}" if token else "")


def _note(asked: int | None, port: int) -> str | None:
    if asked is None and port != FIRST_PORT:
        return f"port {FIRST_PORT} is busy, so the page is on port {port}"
    return None
