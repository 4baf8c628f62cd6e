"""The files of the page, read once: no address ever reaches the disk."""

from functools import cache
from importlib import resources
from typing import NamedTuple

from unskew.errors import MissingExtraError

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
PAGE = "index.html"


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
