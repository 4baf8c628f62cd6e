"""Arrays without an owner, so that hot loops do not count references."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba.extending import intrinsic

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
