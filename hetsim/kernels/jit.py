"""The decorator of every kernel: lazily compiled, cached on disk under a hash of the kernels' own sources."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import platformdirs

F = TypeVar("F", bound=Callable[..., object])

config: Any = numba.config  # filled at run time from the environment, so its types are unknown


def _cache_folder() -> str:
    """Name a folder for this version of the kernels: numba's index does not notice an edited callee in another file."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    root = Path(config.CACHE_DIR or platformdirs.user_cache_path("hetsim"))
    return str(root / f"kernels-{digest.hexdigest()[:16]}")


def _is_writable(folder: str) -> bool:
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        probe = Path(folder) / f"probe-{hashlib.sha256(str(id(folder)).encode()).hexdigest()[:8]}"
        probe.touch()
        probe.unlink(missing_ok=True)
    except OSError:
        return False
    return True


_FOLDER = _cache_folder()
_CACHE = _is_writable(_FOLDER)


def jit(function: F) -> F:
    """Compile a kernel at its first call.

    Parameters
    ----------
    function : callable
        Scalars and C-contiguous arrays in, scalars out or an array of the caller filled.

    Returns
    -------
    callable
        The dispatcher; ``.py_func`` is the plain function.
    """
    return _compiled(function)


def jit_without_allocation(function: F) -> F:
    """Compile a kernel that makes no array, and so needs no counting of references.

    Counting costs two atomic operations for every array of every call: interpreting a plan of 16 workers and one server
    took 1.7 times as long with it. A quotient by zero is infinite or no number, as in numpy: the check that raises an
    error in its place is a branch, and a loop with a branch is done element by element.

    Parameters
    ----------
    function : callable
        As for `jit`.

    Returns
    -------
    callable
        The dispatcher; ``.py_func`` is the plain function.
    """
    return _compiled(function, _nrt=False, error_model="numpy")


def inlined(function: F) -> F:
    """Compile a small part of a kernel into each place that calls it.

    Left to itself, LLVM calls most of them, with every array passed as ten words.

    Parameters
    ----------
    function : callable
        Makes no array; divides by nothing that may be zero.

    Returns
    -------
    callable
        The dispatcher; ``.py_func`` is the plain function.
    """
    return _compiled(function, _nrt=False, error_model="numpy", forceinline=True)


def _compiled(function: F, **options: Any) -> F:
    # The cache folder is numba's global setting, so it is changed for this decoration only.
    previous = config.CACHE_DIR
    config.CACHE_DIR = _FOLDER
    try:
        return cast("F", numba.njit(cache=_CACHE, **options)(function))
    finally:
        config.CACHE_DIR = previous
