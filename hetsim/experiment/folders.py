"""Results folders: written beside, then moved into place, so that a folder is whole or absent.

What is on its way has a hidden name of its own, with the host and the process that write it: a writer that was killed
leaves it behind, and the next one clears it away, or puts a folder back that had been moved aside.
"""

import errno
import hashlib
import os
import platform
import re
import shutil
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from hetsim.errors import HetsimError

_ATTEMPTS: Final = 100
_HIDDEN: Final = re.compile(
    r"\.(?P<name>.+)\.(?P<host>[0-9a-f]{8})-(?P<process>[0-9]+)-[0-9a-f]{32}\.(?P<kind>new|old|gone)"
)


def write_folder(parent: Path, name: str, files: Mapping[str, bytes]) -> Path:
    """Write a folder of files, replacing one of the same name.

    Several processes may write the same folder at once: each leaves a whole folder, and the last one stays. Whatever
    fails or interrupts the writing, the new folder is in place or the one before it is; a kill between two moves leaves
    both under hidden names, of which the next writer puts one back.

    Parameters
    ----------
    parent : Path
        Made if it is not there.
    name : str
        Of the folder; a link of this name is replaced, what it leads to is left alone.
    files : mapping of str to bytes
        Contents by file name.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    OSError
        If the folder cannot be written; names a path.
    """
    target = parent / name
    try:
        parent.mkdir(parents=True, exist_ok=True)
        _recover(parent)
        _write(target, files)
    except OSError as error:
        # A full disk is reported without saying where.
        if error.filename is None and error.errno is not None:
            error.filename = str(target)
        raise
    return target


def _write(target: Path, files: Mapping[str, bytes]) -> None:
    fresh = _hidden(target, "new")
    try:
        fresh.mkdir()
        for file_name, content in files.items():
            (fresh / file_name).write_bytes(content)
        _swap(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _hidden(target: Path, kind: str) -> Path:
    return target.with_name(f".{target.name}.{_host()}-{os.getpid()}-{uuid.uuid4().hex}.{kind}")


def _swap(fresh: Path, target: Path) -> None:
    for _ in range(_ATTEMPTS):
        if _put(fresh, target, _hidden(target, "old")):
            return
    raise HetsimError(f"{target}: other processes replace this folder all the time")


def _put(fresh: Path, target: Path, old: Path) -> bool:
    """Move a folder into place; False if another process put its own there first."""
    is_there = True
    try:
        _move_away(target, old)
        os.replace(fresh, target)
    except OSError as error:
        _put_back(old, target)
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise
        is_there = False
    except BaseException:
        _put_back(old, target)
        raise
    _discard(old)
    return is_there


def _move_away(target: Path, old: Path) -> None:
    try:
        os.replace(target, old)
    except FileNotFoundError:
        return
    if not old.is_dir() and not old.is_symlink():
        raise NotADirectoryError(f"{target} is a file: hetsim does not replace it by a folder")


def _put_back(old: Path, target: Path) -> None:
    if os.path.lexists(old) and not os.path.lexists(target):
        with suppress(OSError):  # another process was faster, and what went wrong first is what is reported
            os.replace(old, target)


def _discard(old: Path) -> None:
    """Delete what was replaced; what cannot be deleted stays, hidden, and is tried again by later writers."""
    gone = old.with_suffix(".gone")
    # Half of a folder must not be put back. Another process may clear away the same one.
    with suppress(OSError):
        os.replace(old, gone)
        if gone.is_symlink():
            gone.unlink()
    shutil.rmtree(gone, ignore_errors=True)


def _recover(parent: Path) -> None:
    """Clear away what writers of this host left that are no more, and put back what they had moved aside."""
    for hidden in sorted(parent.glob(".*.*")):
        match = _HIDDEN.fullmatch(hidden.name)
        if match is None or match["host"] != _host() or _is_alive(int(match["process"])):
            continue
        target = parent / match["name"]
        if match["kind"] == "old" and not os.path.lexists(target):
            with suppress(OSError):  # another process was faster
                os.replace(hidden, target)
        else:
            _discard(hidden)


def _host() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _is_alive(process: int) -> bool:
    if os.name != "posix":
        return True  # elsewhere, to ask is to kill
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
