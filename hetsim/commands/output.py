"""What commands print, and where."""

import errno
import json
import os
import sys
from pathlib import Path
from typing import TextIO

import click


def check_writable(out: str) -> None:
    """Fail before the work is done, not after it; make nothing yet.

    Parameters
    ----------
    out : str
        Folder that results shall go to.

    Raises
    ------
    OSError
        If nothing can be written there.
    """
    folder = Path(out).absolute()
    while not os.path.lexists(folder):
        folder = folder.parent
    if not folder.exists():
        raise FileNotFoundError(errno.ENOENT, "this link leads to nothing", str(folder))
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


def count(n: int, name: str) -> str:
    """Return a number of things in words.

    Parameters
    ----------
    n : int
        How many.
    name : str
        Of one.

    Returns
    -------
    str
        Such as ``2 hosts``.
    """
    return f"{n} {name}{'' if n == 1 else 's'}"


def as_json_text(content: object) -> str:
    """Return what ``--json`` prints.

    Parameters
    ----------
    content : object
        Of numbers, texts, lists and mappings.

    Returns
    -------
    str
        JSON.
    """
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)


def say_saved(folder: Path | None, *, as_json: bool, quiet: bool) -> None:
    """Say where results are.

    Parameters
    ----------
    folder : Path or None
        None where there are none.
    as_json : bool
        Whether standard output is for JSON alone.
    quiet : bool
        Whether to say nothing.
    """
    if folder is not None and not quiet:
        text = f"results in {folder}"
        complain(text) if as_json else say(f"\n{text}")


def say(text: str) -> None:
    """Print to standard output.

    Parameters
    ----------
    text : str
        Without the last line break.
    """
    _write(text, sys.stdout)


def complain(text: str) -> None:
    """Print to standard error.

    Parameters
    ----------
    text : str
        Without the last line break.
    """
    _write(text, sys.stderr)


def _write(text: str, stream: TextIO | None) -> None:
    """Write to a stream that may be closed, that nobody may read any more, and whose disk may be full."""
    if stream is None:
        return
    try:
        click.echo(text, file=stream)
        stream.flush()
    except OSError as error:
        # Python flushes once more at its end, which must find an open file.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        # A reader that has seen enough changes nothing about what the command did; an error about errors has no reader.
        if stream is sys.stderr or isinstance(error, BrokenPipeError):
            return
        error.filename = error.filename or "standard output"
        raise
