"""Results folders: written beside, then moved into place, so that a folder is whole or absent."""

import errno
import os
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hetsim.errors import HetsimError

_ATTEMPTS: Final = 100


def write_folder(parent: Path, name: str, files: Mapping[str, bytes]) -> Path:
    """Write a folder of files, replacing one of the same name.

    Several processes may write the same folder at once: each leaves a whole folder, and the last one stays.

    Parameters
    ----------
    parent : Path
        Made if it is not there.
    name : str
        Of the folder.
    files : mapping of str to bytes
        Contents by file name.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    parent.mkdir(parents=True, exist_ok=True)
    target = parent / name
    fresh = parent / f".{name}.{uuid.uuid4().hex}.new"
    try:
        fresh.mkdir()
        for file_name, content in files.items():
            (fresh / file_name).write_bytes(content)
        _swap(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return target


def _swap(fresh: Path, target: Path) -> None:
    old = fresh.with_suffix(".old")
    for _ in range(_ATTEMPTS):
        _move_away(target, old)
        try:
            os.replace(fresh, target)
        except OSError as error:
            # Another process put its folder there between the two moves; anything else is a real failure.
            if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                raise
        else:
            return
    raise HetsimError(f"{target}: other processes replace this folder all the time")


def _move_away(target: Path, old: Path) -> None:
    try:
        os.replace(target, old)
    except FileNotFoundError:
        return
    if old.is_dir():
        shutil.rmtree(old)
    else:
        os.replace(old, target)
        raise NotADirectoryError(f"{target} is a file: hetsim does not replace it by a folder")
