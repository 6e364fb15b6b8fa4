"""The decorators of every kernel: plain Python until compiling pays, then compiled, and cached on disk.

Numba takes about a second to start, more than a small run takes without it. So a kernel is at first the function as it
is written; `compile_all` puts its compiled form wherever hetsim knows it by name. Both give the same bits. The cache
lies under a hash of the kernels' own sources.
"""

import hashlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import platformdirs

F = TypeVar("F", bound=Callable[..., object])

MOST_EVENTS: Final = 10_000
"""Events simulated in plain Python by one process, at 30 to 60 us each, before it pays to compile."""

_HOLDER: Final = "hetsim"


class _Compiler:
    """What is compiled, and how: one for the process."""

    def __init__(self) -> None:
        self.is_on = False
        self.n_events = 0
        self.waiting: list[tuple[Callable[..., object], dict[str, Any]]] = []
        self.preparations: list[Callable[[], None]] = []

    def decorated(self, function: F, *, is_entry: bool = True, **options: Any) -> F:
        if not is_entry:
            # No file of its own, which nobody would load: what calls it holds a copy.
            options |= {"cache": False, "no_cfunc_wrapper": True}
        if self.is_on:
            return cast("F", _dispatcher(function, options))
        self.waiting.append((function, options))
        return function

    def start(self) -> None:
        self.is_on = True
        for prepare in self.preparations:
            prepare()
        made = {id(function): _dispatcher(function, options) for function, options in self.waiting}
        self.waiting.clear()
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] == _HOLDER:
                for key, value in list(vars(module).items()):
                    if id(value) in made:
                        setattr(module, key, made[id(value)])


_COMPILER: Final = _Compiler()
_LEAN: Final[dict[str, Any]] = {"_nrt": False, "error_model": "numpy"}


@lru_cache
def _cache_folder() -> tuple[str, bool]:
    """Name a folder for this version of the kernels.

    Numba's index does not notice an edited callee in another file.
    """
    digest = hashlib.sha256(version("numba").encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    root = Path(os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_path("hetsim"))
    folder = root / f"kernels-{digest.hexdigest()[:16]}"
    return str(folder), _is_writable(folder)


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f"probe-{hashlib.sha256(str(id(folder)).encode()).hexdigest()[:8]}"
        probe.touch()
        probe.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _dispatcher(function: Callable[..., object], options: dict[str, Any]) -> Callable[..., object]:
    import numba

    folder, is_writable = _cache_folder()
    # The cache folder is numba's global setting, so it is changed for this decoration only.
    config: Any = numba.config  # filled at run time from the environment, so its types are unknown
    previous = config.CACHE_DIR
    config.CACHE_DIR = folder
    try:
        made: Any = numba.njit(**{"cache": is_writable} | options)(function)
        _guard(getattr(made, "_cache", None))
        return cast("Callable[..., object]", made)
    finally:
        config.CACHE_DIR = previous


def _guard(cache: Any) -> None:
    """Let a damaged or full cache on disk cost time and not the run: numba lets its errors through."""
    if not hasattr(cache, "load_overload"):
        return
    load, save = cache.load_overload, cache.save_overload

    def guarded_load(signature: object, target: object) -> object:
        try:
            return load(signature, target)
        except Exception:
            with suppress(Exception):
                cache.flush()
            return None

    def guarded_save(signature: object, data: object) -> None:
        with suppress(Exception):
            save(signature, data)

    cache.load_overload, cache.save_overload = guarded_load, guarded_save


def is_cached() -> bool:
    """Return whether kernels were compiled before on this machine.

    Returns
    -------
    bool
        Whether the cache on disk holds any.
    """
    return next(Path(_cache_folder()[0]).rglob("*.nbi"), None) is not None


def compile_all() -> None:
    """Let every kernel be compiled at its next call, in this process."""
    if not _COMPILER.is_on:
        _COMPILER.start()


def compile_if_many(n_events: int) -> None:
    """Compile every kernel once a process has simulated many events.

    Parameters
    ----------
    n_events : int
        About to be simulated.
    """
    _COMPILER.n_events += n_events
    if _COMPILER.n_events > MOST_EVENTS:
        compile_all()


def before_compiling(prepare: Callable[[], None]) -> None:
    """Let something be done before the first kernel is compiled.

    Parameters
    ----------
    prepare : callable
        May import numba.
    """
    _COMPILER.preparations.append(prepare)
    if _COMPILER.is_on:
        prepare()


def jit(function: F) -> F:
    """Compile a kernel at its first call.

    Parameters
    ----------
    function : callable
        Scalars and C-contiguous arrays in, scalars out or an array of the caller filled.

    Returns
    -------
    callable
        The function, until `compile_all`.
    """
    return _COMPILER.decorated(function)


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
        The function, until `compile_all`.
    """
    return _COMPILER.decorated(function, **_LEAN)


def part(function: F) -> F:
    """Compile a part of a kernel that only kernels call; otherwise as `jit_without_allocation`.

    Parameters
    ----------
    function : callable
        As for `jit`.

    Returns
    -------
    callable
        The function, until `compile_all`.
    """
    return _COMPILER.decorated(function, is_entry=False, **_LEAN)


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
        The function, until `compile_all`.
    """
    return _COMPILER.decorated(function, is_entry=False, forceinline=True, **_LEAN)
