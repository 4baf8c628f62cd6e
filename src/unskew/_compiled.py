"""The one way in which unskew compiles its loops."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache
from numba.core.sigutils import normalize_signature
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile ``function`` with Numba on its first call and keep the result on disk.

    Compiled loops release the GIL. Division follows NumPy: no check for zero in a hot loop.
    """
    return cast(F, _kept_on_disk(numba.njit(nogil=True, error_model="numpy")(function)))


def inlined(function: F) -> F:
    """Compile a small step that other compiled loops take in whole."""
    decorated = numba.njit(nogil=True, error_model="numpy", inline="always")
    return cast(F, _kept_on_disk(decorated(function)))


def _kept_on_disk(dispatcher: Any) -> Any:
    cache = _CheckedCache(dispatcher.py_func)  # type: ignore[no-untyped-call] # Numba's own
    dispatcher._cache = cache
    return dispatcher


class _CheckedCache(FunctionCache):
    """Numba's files on disk, but never code for other types, and never an error for a stale file.

    Numba numbers the files of a function as it finds them. Two processes that compile it for
    different types at the same time may give one number to both: the index then names the types of
    the one beside the code of the other, which runs, on whatever the bytes mean to it.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for the types ``sig``, None if that is not to be had."""
        load = super().load_overload
        try:
            found = load(sig, target_context)  # type: ignore[no-untyped-call] # Numba's own
        except Exception:  # left by a release that had other modules, or cut by a full disk
            self.flush()  # type: ignore[no-untyped-call] # Numba's own
            return None
        wanted, _ = normalize_signature(sig)
        return found if found is not None and found.signature.args == tuple(wanted) else None


Array = TypeVar("Array")


def _borrowed(_typing_context: Any, array: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        view = context.make_array(array)(context, builder, arguments[0])
        view.meminfo = view.meminfo.type(None)
        return view._getvalue()

    return array(array), generate


borrowed = cast(Callable[[Array], Array], intrinsic(_borrowed))
"""Return, inside a compiled function, the same array without its owner.

Numba counts the references to each array that a compiled function is given, with atomic
instructions that cost more than the rest of a short step; for an array without an owner it has
nothing to count. The caller of the loop holds the array, so it outlives the loop. Never return a
borrowed array.
"""
