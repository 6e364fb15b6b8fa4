"""Results folders are whole, replaced as a whole, and leave nothing beside them."""

import errno
import itertools
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hetsim.experiment.folders import _host, write_folder


def test_folder_holds_exactly_the_files(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "a" / "b", "run", {"jobs.csv": b"x\n", "manifest.json": b"{}"})
    assert folder == tmp_path / "a" / "b" / "run"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"jobs.csv": b"x\n", "manifest.json": b"{}"}


def test_existing_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    write_folder(tmp_path, "run", {"old.csv": b"1"})
    write_folder(tmp_path, "run", {"new.csv": b"2"})
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["new.csv"]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_file_of_that_name_is_kept(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("precious")
    with pytest.raises(NotADirectoryError, match="run is a file"):
        write_folder(tmp_path, "run", {"jobs.csv": b""})
    assert (tmp_path / "run").read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        write_folder(tmp_path, "run", {"good.csv": b"", "missing/bad.csv": b""})
    assert list(tmp_path.iterdir()) == []


def test_many_writers_at_once_leave_one_whole_folder(tmp_path: Path) -> None:
    failures: list[Exception] = []

    def write(writer: int) -> None:
        try:
            for turn in range(20):
                write_folder(tmp_path, "run", {name: f"{writer}-{turn}".encode() for name in ("a", "b", "c")})
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert len({(tmp_path / "run" / name).read_bytes() for name in ("a", "b", "c")}) == 1


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def nth_replace(n: int, action: Callable[[], None]) -> Callable[[Path, Path], None]:
    """Return an `os.replace` that does something else the n-th time."""
    turns, replace = itertools.count(1), os.replace

    def other(source: Path, target: Path) -> None:
        if next(turns) == n:
            action()
        replace(source, target)

    return other


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(5, "Input/output error"), SystemExit(143)])
@pytest.mark.parametrize("turn", [1, 2])
def test_whatever_ends_the_move_the_old_folder_is_back(
    turn: int, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise error

    write_folder(tmp_path, "run", {"a": b"old"})
    monkeypatch.setattr(os, "replace", nth_replace(turn, fail))
    with pytest.raises(type(error)):
        write_folder(tmp_path, "run", {"a": b"new"})
    assert (tmp_path / "run" / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["run"]


KILLED = """
import itertools, os, sys
from pathlib import Path
from hetsim.experiment.folders import write_folder
turns, replace = itertools.count(1), os.replace
os.replace = lambda a, b: os._exit(9) if next(turns) == {turn} else replace(a, b)
write_folder(Path(sys.argv[1]), "run", {{"a": b"new"}})
"""


@pytest.mark.skipif(os.name != "posix", reason="elsewhere nobody can tell whether a writer lives")
@pytest.mark.parametrize(("turn", "found"), [(1, b"old"), (2, b"old"), (3, b"new")])
def test_the_next_writer_mends_what_a_killed_one_left(turn: int, found: bytes, tmp_path: Path) -> None:
    write_folder(tmp_path, "run", {"a": b"old"})
    done = subprocess.run([sys.executable, "-c", KILLED.format(turn=turn), str(tmp_path)], check=False)
    assert done.returncode == 9
    assert len(names(tmp_path)) > 1
    write_folder(tmp_path, "another", {})
    assert names(tmp_path) == ["another", "run"]
    assert (tmp_path / "run" / "a").read_bytes() == found


def test_what_other_writers_have_under_way_is_left_alone(tmp_path: Path) -> None:
    mark = "0" * 32
    others = [f".run.{_host()}-{os.getpid()}-{mark}.new", f".run.00000000-1-{mark}.new", ".run.mine.new", ".x.y"]
    for other in others:
        (tmp_path / other).mkdir()
    write_folder(tmp_path, "run", {})
    assert names(tmp_path) == sorted([*others, "run"])


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
@pytest.mark.parametrize("leads_somewhere", [True, False])
def test_a_link_is_replaced_and_what_it_leads_to_is_not(leads_somewhere: bool, tmp_path: Path) -> None:
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "out"
    out.mkdir()
    if leads_somewhere:
        write_folder(tmp_path, "elsewhere", {"a": b"theirs"})
    (out / "run").symlink_to(elsewhere)
    write_folder(out, "run", {"a": b"ours"})
    assert names(out) == ["run"]
    assert not (out / "run").is_symlink()
    assert (out / "run" / "a").read_bytes() == b"ours"
    assert not leads_somewhere or (elsewhere / "a").read_bytes() == b"theirs"


def test_an_old_folder_that_cannot_be_deleted_is_out_of_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(tmp_path, "run", {"a": b"old"})
    monkeypatch.setattr(shutil, "rmtree", lambda path, ignore_errors: None)
    write_folder(tmp_path, "run", {"a": b"new"})
    assert (tmp_path / "run" / "a").read_bytes() == b"new"
    assert [name for name in names(tmp_path) if not name.startswith(".")] == ["run"]


def test_a_full_disk_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(OSError, match="No space left") as caught:
        write_folder(tmp_path, "run", {"a": b""})
    assert caught.value.filename == str(tmp_path / "run")
    assert names(tmp_path) == []
