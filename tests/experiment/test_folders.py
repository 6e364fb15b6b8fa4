"""Results folders are whole, replaced as a whole, and leave nothing beside them."""

import threading
from pathlib import Path

import pytest

from hetsim.experiment.folders import write_folder


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
