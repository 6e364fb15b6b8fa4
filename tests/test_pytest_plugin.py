"""Goldens: written on request, missing ones fail, and a number that moved is explained."""

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hetsim import compare, load, run
from hetsim.pytest_plugin import Golden

pytest_plugins = ("pytester",)

ROOT = Path(__file__).parent.parent
LEAN = ("-p", "no:hypothesispytest", "-p", "no:cacheprovider")
PARTS = {"step_time_mean_s": 1.0, "compute_s": 0.6, "wait_s": 0.3, "exposed_s": 0.1}


def golden_of(folder: Path, *, is_update: bool = False, rtol: float = 1e-9) -> Golden:
    return Golden(folder, "test_it", "pytest --hetsim-update", is_update=is_update, rtol=rtol)


def pinned(folder: Path, value: object) -> Path:
    """Write a golden and return its file."""
    golden_of(folder, is_update=True)(value)
    (path,) = folder.iterdir()
    return path


def failure(folder: Path, value: object, **options: float) -> str:
    with pytest.raises(pytest.fail.Exception) as caught:
        golden_of(folder, **options)(value)
    return str(caught.value)


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1.5, "b": {"c": [1, 2, None]}, "text": "x", "flag": True},
        [0.1, 0.2],
        0.1 + 0.2,
        np.linspace(0.0, 1.0, 7),
        {1: np.float64(1e-300), "n": np.int64(3)},
    ],
    ids=["nested", "list", "number", "array", "scalars"],
)
def test_what_was_written_holds(tmp_path: Path, value: object) -> None:
    pinned(tmp_path, value)
    golden_of(tmp_path, rtol=0.0)(value)


@pytest.mark.parametrize(
    ("new", "line"),
    [
        ({"a": 2.0, "b": 0.0, "c": "x"}, "a      1       2    +100 %"),
        ({"a": 1.0, "b": 1e-30, "c": "x"}, "b      0       1e-30  +inf %"),
        ({"a": 1.0, "b": 0.0, "c": "y"}, 'c      "x"     "y"'),
        ({"a": 1.0, "b": 0.0}, 'c      "x"     absent'),
        ({"a": 1.0, "b": 0.0, "c": "x", "d": 4}, "d      absent  4"),
        ({"a": None, "b": 0.0, "c": "x"}, "a      1.0     null"),
        ({"a": True, "b": 0.0, "c": "x"}, "a      1.0     true"),
    ],
)
def test_a_difference_is_shown(tmp_path: Path, new: dict, line: str) -> None:
    pinned(tmp_path, {"a": 1.0, "b": 0.0, "c": "x"})
    lines = failure(tmp_path, new).splitlines()
    assert lines[0].endswith("1 of 3 values moved" if len(new) == 3 else f"1 of {len(new)} values moved")
    assert lines[1].split() == ["value", "golden", "now", "relative"]
    assert lines[2].split() == line.split()


def test_the_largest_difference_comes_first_and_few_are_shown(tmp_path: Path) -> None:
    pinned(tmp_path, {f"n{i}": 1.0 for i in range(30)})
    lines = failure(tmp_path, {f"n{i}": 1.0 + 0.01 * i for i in range(30)}).splitlines()
    assert [line.split()[0] for line in lines[2:22]] == [f"n{i}" for i in range(29, 9, -1)]
    assert lines[22] == "and 9 more"


@pytest.mark.parametrize(("moved", "holds"), [(0.9e-9, True), (1.1e-9, False), (-1.1e-9, False)])
def test_the_tolerance_is_relative(tmp_path: Path, moved: float, holds: bool) -> None:
    for i, value in enumerate((1e-12, 1.0, -1e9)):
        folder = tmp_path / str(i)
        pinned(folder, {"a": value})
        if holds:
            golden_of(folder)({"a": value * (1.0 + moved)})
        else:
            failure(folder, {"a": value * (1.0 + moved)})


def test_a_golden_may_have_a_tolerance_of_its_own(tmp_path: Path) -> None:
    pinned(tmp_path, 1.0)
    golden_of(tmp_path)(1.05, rtol=0.1)
    assert "+5 %" in failure(tmp_path, 1.05)


def test_parts_of_a_step_are_held_to_the_step(tmp_path: Path) -> None:
    # A part that is next to nothing may differ by 1e-9 of the step, but not by more.
    pinned(tmp_path, PARTS | {"exposed_s": 1e-12})
    golden_of(tmp_path)(PARTS | {"exposed_s": 2e-12})
    assert "exposed_s" in failure(tmp_path, PARTS | {"exposed_s": 1e-8})


@pytest.mark.parametrize("part", ["compute", "wait", "communication"])
def test_the_part_that_explains_a_step_is_named(tmp_path: Path, part: str) -> None:
    name = {"compute": "compute_s", "wait": "wait_s", "communication": "exposed_s"}[part]
    pinned(tmp_path, {"one": PARTS, "two": PARTS})
    new = {"one": PARTS, "two": PARTS | {"step_time_mean_s": 1.5, name: PARTS[name] + 0.5}}
    (why,) = (line for line in failure(tmp_path, new).splitlines() if line.startswith("why"))
    assert why.startswith("why: two: a step +0.5 s: ")
    assert f"{part} +0.5 s" in why
    assert why.endswith(f"mostly {part}")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, np.float64("nan")])
@pytest.mark.parametrize("is_update", [False, True])
def test_what_is_not_finite_is_refused(tmp_path: Path, bad: float, is_update: bool) -> None:
    with pytest.raises(ValueError, match=r"finite numbers only: row: a is (nan|-?inf)"):
        golden_of(tmp_path, is_update=is_update)({"row": {"a": bad}})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bad", [object(), {"a": {1, 2}}, {"a": 1j}, None])
def test_what_is_no_number_is_refused(tmp_path: Path, bad: object) -> None:
    with pytest.raises(TypeError, match="hetsim_golden pins"):
        golden_of(tmp_path, is_update=True)(bad)


def test_nothing_is_no_golden(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothing to pin"):
        golden_of(tmp_path, is_update=True)({})


def test_several_goldens_need_names(tmp_path: Path) -> None:
    golden = golden_of(tmp_path, is_update=True)
    golden(1.0)
    golden(2.0, name="two")
    with pytest.raises(ValueError, match="name='two'"):
        golden(2.0, name="two")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["test_it.json", "test_it.two.json"]


def test_a_broken_golden_is_no_golden(tmp_path: Path) -> None:
    path = pinned(tmp_path, 1.0)
    for content in ("{", "[]", '{"about": {}}', '{"values": NaN}'):
        path.write_text(content)
        assert "is not a golden" in failure(tmp_path, 1.0)


def test_a_golden_that_holds_is_left_as_it_is(tmp_path: Path) -> None:
    path = pinned(tmp_path, {"a": 1.0})
    golden = golden_of(tmp_path, is_update=True)
    golden({"a": 1.0 + 1e-12})
    assert json.loads(path.read_text()) == {"values": {"a": 1.0}}
    assert golden.written == []
    golden_of(tmp_path, is_update=True)({"a": 2.0})
    assert json.loads(path.read_text()) == {"values": {"a": 2.0}}
    assert [each.name for each in tmp_path.iterdir()] == ["test_it.json"]


def test_a_result_is_pinned_by_job_and_replication(tmp_path: Path, small: dict) -> None:
    path = pinned(tmp_path, run(load(small)))
    values = json.loads(path.read_text())["values"]
    assert list(values) == [f"train, replication {i}" for i in range(3)]
    first = values["train, replication 0"]
    assert first["workers"] == "busy-0/gpu0;busy-1/gpu0"
    assert first["compute_s"] + first["wait_s"] + first["exposed_s"] == pytest.approx(first["step_time_mean_s"])
    golden_of(tmp_path, rtol=0.0)(run(load(small)))


def test_a_result_says_whether_the_scenario_or_the_code_moved_it(tmp_path: Path, small: dict) -> None:
    path = pinned(tmp_path, run(load(small)))
    text = failure(tmp_path, run(load(small, ["jobs[train].compute=90 ms"])))
    assert "the scenario, its catalog rows or the model version changed" in text
    assert text.count("mostly compute") == 3
    stored = path.read_text()
    path.write_text(stored.replace('"wait_s": ', '"wait_s": 1'))
    assert "the code moved it" in failure(tmp_path, run(load(small)))


def test_a_placement_that_moved_is_shown(tmp_path: Path, small: dict) -> None:
    pinned(tmp_path, run(load(small)))
    text = failure(tmp_path, run(load(small, ["jobs[train].placement.policy=infrastructure-aware"])))
    assert '"busy-0/gpu0;busy-1/gpu0"  "idle-0/gpu0;idle-1/gpu0"' in text.splitlines()[2]


def test_a_comparison_is_pinned_by_row(tmp_path: Path, small: dict) -> None:
    comparison = compare(load(small))
    path = pinned(tmp_path, comparison)
    rows = json.loads(path.read_text())["values"]
    policies = ("default-tensorflow", "infrastructure-aware")
    assert list(rows) == [f"jobs[train].placement.policy={policy}" for policy in policies]
    for row, pinned_row in zip(comparison.rows, rows.values(), strict=True):
        assert pinned_row["mean of train_time_s"] == row.mean
        assert pinned_row["train_time_s"] == pytest.approx(row.mean)
        assert pinned_row["speedup of train_time_s"] == row.speedup


TEST_FILE = """
import pytest

@pytest.mark.parametrize("text", ["a/b", "a b", "a:b", "x" * 200])
def test_text(hetsim_golden, text):
    hetsim_golden({"length": len(text)})

class TestIt:
    def test_two(self, hetsim_golden):
        hetsim_golden(1.0)
        hetsim_golden(2.0, name="second")
"""


def test_goldens_lie_beside_the_test_module(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_one=TEST_FILE, test_other=TEST_FILE)
    missing = pytester.runpytest_inprocess(*LEAN)
    missing.assert_outcomes(failed=10)
    missing.stdout.fnmatch_lines(
        ["*there is no golden *test_one*; to write it: pytest --hetsim-update *test_one.py::*"]
    )
    written = pytester.runpytest_inprocess(*LEAN, "--hetsim-update")
    written.assert_outcomes(passed=10)
    written.stdout.fnmatch_lines(["*hetsim goldens written*", "*TestIt.test_two.json: new"])
    names = [path.name for path in (pytester.path / "golden" / "test_one").iterdir()]
    assert len(names) == 6
    assert {"TestIt.test_two.json", "TestIt.test_two.second.json"} <= set(names)
    pytester.runpytest_inprocess(*LEAN).assert_outcomes(passed=10)
    pytester.runpytest_inprocess(*LEAN, "--hetsim-update").stdout.fnmatch_lines(["none*"])


@pytest.mark.parametrize("text", ["-1e-9", "nan", "1", "much"])
def test_a_tolerance_that_is_none_is_refused(pytester: pytest.Pytester, text: str) -> None:
    done = pytester.runpytest_inprocess(*LEAN, f"--hetsim-rtol={text}")
    assert done.ret == pytest.ExitCode.USAGE_ERROR


def test_the_tolerance_can_be_set(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it="def test_it(hetsim_golden):\n    hetsim_golden({'a': 1.0})\n")
    pytester.runpytest_inprocess(*LEAN, "--hetsim-update").assert_outcomes(passed=1)
    pytester.makepyfile(test_it="def test_it(hetsim_golden):\n    hetsim_golden({'a': 1.001})\n")
    pytester.runpytest_inprocess(*LEAN).assert_outcomes(failed=1)
    pytester.runpytest_inprocess(*LEAN, "--hetsim-rtol=0.01").assert_outcomes(passed=1)


def test_workers_of_xdist_write_goldens(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_one=TEST_FILE, test_other=TEST_FILE)
    written = pytester.runpytest_subprocess(*LEAN, "-n2", "--hetsim-update")
    written.assert_outcomes(passed=10)
    written.stdout.fnmatch_lines(["*hetsim goldens written*", "*TestIt.test_two.json: new"])
    assert len(list((pytester.path / "golden").rglob("*"))) == 2 + 12
    pytester.runpytest_subprocess(*LEAN, "-n2").assert_outcomes(passed=10)


def test_processes_that_write_one_golden_at_once_leave_a_whole_one(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from hetsim.pytest_plugin import Golden\n"
        "for i in range(20):\n"
        "    golden = Golden(Path(sys.argv[1]), 'it', '', is_update=True, rtol=0.0)\n"
        "    golden({f'n{j}': float(i) for j in range(500)})\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT) for _ in range(2)]
    assert [writer.wait() for writer in writers] == [0, 0]
    (path,) = tmp_path.iterdir()
    assert set(json.loads(path.read_text())["values"].values()) == {19.0}


def test_those_who_do_not_use_it_pay_for_two_small_modules_only() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import hetsim.pytest_plugin;"
        "print(*sorted(n for n in set(sys.modules) - before if n.partition('.')[0] not in sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["hetsim", "hetsim.pytest_plugin"]


def test_pytest_finds_the_plugin_by_its_entry_point() -> None:
    program = shutil.which("pytest", path=str(Path(sys.executable).parent))
    command = [program or "pytest", "--help", "-p", "no:cacheprovider"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert "--hetsim-update" in done.stdout
    assert "--hetsim-rtol" in done.stdout
