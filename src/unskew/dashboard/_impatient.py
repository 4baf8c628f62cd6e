"""HTTP as uvicorn speaks it, but not with those who never finish what they ask."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS_FOR_A_REQUEST = 10.0


class ImpatientProtocol(H11Protocol):
    """Close a connection whose request is not complete after ten seconds.

    The number of connections is limited, so that half-sent requests, each kept alive by a byte now
    and then, would lock everybody else out.
    """

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take what has come; what does not complete a request wins no time."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        super().connection_lost(exc)
        self._stop_waiting()

    def _watch(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()  # a request is being answered
        elif self._patience is None:
            self._patience = self.loop.call_later(SECONDS_FOR_A_REQUEST, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
