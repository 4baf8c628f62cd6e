"""The one way in which unskew compiles its loops."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile ``function`` with Numba on its first call and keep the result on disk.

    Compiled loops release the GIL. Division follows NumPy: no check for zero in a hot loop.
    """
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def inlined(function: F) -> F:
    """Compile a small step that other compiled loops take in whole."""
    decorated = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")
    return cast(F, decorated(function))
