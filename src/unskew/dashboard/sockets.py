"""A port for the page: the one that was asked for, or one that is free."""

import errno
import socket
from collections.abc import Iterable

from unskew._validation import check_int
from unskew.errors import InvalidParameterError, UnskewError

LOOPBACK = "127.0.0.1"
FIRST_PORT = 4747
_TRIES = 20


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
    unskew.dashboard.sockets.BusyPortError: dashboard: port 40000 of 127.0.0.1 is busy. Hint: …
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
