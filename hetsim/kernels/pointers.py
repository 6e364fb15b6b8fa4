"""Bare pointers into arrays, for kernels that look at many tables.

An array is seven words where it is handed on, and each index of it is tested for a negative one; a pointer is one word.
Not compiled, a pointer is the array itself, so that an index out of bounds shows with ``NUMBA_DISABLE_JIT=1``.
"""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from hetsim.kernels.jit import before_compiling

ArrayT = TypeVar("ArrayT", bound=npt.NDArray[Any])


def pointer(array: ArrayT) -> ArrayT:
    """Return a pointer to the first entry of an array.

    Parameters
    ----------
    array : ndarray
        C-contiguous; somebody else keeps it alive.

    Returns
    -------
    ndarray
        To be indexed with one number, as if it were flat.
    """
    return array.reshape(-1)  # type: ignore[return-value]


def advanced(place: ArrayT, n: int) -> ArrayT:
    """Return a pointer to a later entry.

    Parameters
    ----------
    place : ndarray
        From `pointer`.
    n : int
        How many entries later; not negative.

    Returns
    -------
    ndarray
        To be indexed from there.
    """
    return place[n:]  # type: ignore[return-value]


def _let_numba_know() -> None:
    from numba import types
    from numba.extending import intrinsic, overload

    typed: Any = intrinsic
    pointer_type: Any = types.CPointer

    @typed
    def data(_context: Any, array: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return context.make_array(array)(context, builder, arguments[0]).data

        return pointer_type(array.dtype)(array), generate

    @typed
    def moved(_context: Any, place: Any, n: Any) -> Any:
        def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.gep(arguments[0], [arguments[1]])

        return place(place, types.int64), generate

    @overload(pointer, strict=False)
    def _pointer(array: Any) -> Any:
        return lambda array: data(array)  # noqa: PLW0108 - numba compiles it

    @overload(advanced, strict=False)
    def _advanced(place: Any, n: Any) -> Any:
        return lambda place, n: moved(place, np.int64(n))


before_compiling(_let_numba_know)
