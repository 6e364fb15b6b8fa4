"""The command line: what it prints where, its exit codes, and no traceback for a user's mistake."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
import yaml

import hetsim
from hetsim.__main__ import FAILED, INTERRUPTED, MISUSED, TERMINATED, exit_code
from hetsim.errors import DeadlockError, WorkerError

PLACEMENT = "jobs[train].placement.policy"
ROOT = Path(hetsim.__file__).parent.parent
HEAVY = ("numba", "pandas", "matplotlib", "scipy", "pydantic", "simpy", "networkx", "numpy", "yaml")


@pytest.fixture
def scenario(small: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(small, sort_keys=False))
    return "small.yaml"


def python(*arguments: str, **options: object) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | options.pop("env", {})
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False, **options
    )


def test_run_prints_a_table_and_saves_a_folder(scenario: str, capsys: pytest.CaptureFixture) -> None:
    assert exit_code(["run", scenario]) == 0
    out, err = capsys.readouterr()
    assert "train ran on busy-0/gpu0" in out
    assert err == ""
    (folder,) = Path("results").iterdir()
    assert f"results in {folder}" in out
    assert {path.name for path in folder.iterdir()} >= {"jobs.csv", "manifest.json"}


def test_compare_prints_a_table_and_saves_a_plot(scenario: str, capsys: pytest.CaptureFixture) -> None:
    assert exit_code(["compare", scenario, "--out", "elsewhere"]) == 0
    assert "infrastructure-aware" in capsys.readouterr().out
    (folder,) = Path("elsewhere").iterdir()
    assert (folder / "comparison.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("command", ["run", "compare"])
def test_json_is_alone_on_standard_output(command: str, scenario: str, capsys: pytest.CaptureFixture) -> None:
    assert exit_code([command, scenario, "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["scenario"] == "small"
    assert err.startswith("results in results")


@pytest.mark.parametrize("command", ["run", "compare"])
def test_quiet_and_no_save(command: str, scenario: str, capsys: pytest.CaptureFixture) -> None:
    assert exit_code([command, scenario, "--quiet", "--no-save"]) == 0
    assert capsys.readouterr() == ("", "")
    assert not Path("results").exists()


def test_options_change_what_is_run(scenario: str, capsys: pytest.CaptureFixture) -> None:
    options = ["--set", "jobs[train].steps=2", "--replications", "5", "--seed", "11", "--json", "--no-save"]
    assert exit_code(["run", scenario, *options]) == 0
    content = json.loads(capsys.readouterr().out)
    assert len(content["jobs"]) == 5
    assert exit_code(["run", scenario, *options, "--set", "seed=12"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"] == content["jobs"]
    assert exit_code(["run", scenario, *options, "--seed", "12"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"] != content["jobs"]


def test_the_engine_is_chosen_and_said_and_changes_no_job(scenario: str, capsys: pytest.CaptureFixture) -> None:
    found = {}
    for engine in ("simpy", "kernel"):
        assert exit_code(["run", scenario, "--engine", engine, "--json", "--no-save"]) == 0
        found[engine] = json.loads(capsys.readouterr().out)
    assert [content["engine"] for content in found.values()] == ["simpy", "kernel"]
    assert found["simpy"]["jobs"] == found["kernel"]["jobs"]


def test_axes_are_crossed_with_those_of_the_file(scenario: str, capsys: pytest.CaptureFixture) -> None:
    axes = ["--axis", "jobs[train].gradient=1 MB,2 MB", "--axis", f"{PLACEMENT}=random,round-robin"]
    assert exit_code(["compare", scenario, *axes, "--metric", "samples_per_s", "--json", "--no-save"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["metric"] == "samples_per_s"
    assert [tuple(row["labels"].values()) for row in content["rows"]] == [
        ("random", "1 MB"),
        ("random", "2 MB"),
        ("round-robin", "1 MB"),
        ("round-robin", "2 MB"),
    ]
    axes = ["--axis", "jobs[0].gradient=1 MB,2 MB", "--axis", "jobs[0].placement.policy=random,round-robin"]
    assert exit_code(["compare", scenario, *axes, "--metric", "samples_per_s", "--json", "--no-save"]) == 0
    assert json.loads(capsys.readouterr().out) == content


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nowhere.yaml"], "nowhere.yaml: no such file"),
        (["run", "small.yaml", "--set", "jobs[train].wrokers=2"], "did you mean 'workers'?"),
        (["run", "small.yaml", "--set", "jobs[train].workers=99"], "99"),
        (["run", "small.yaml", "--processes", "0"], "0 is not in the range x>=1"),
        (["run", "small.yaml", "--bogus"], "No such option"),
        (["run"], "Missing argument 'SCENARIO'"),
        (["comapre", "small.yaml"], "no command 'comapre'; did you mean 'compare'? Known: check, compare"),
        (["compare", "small.yaml", "--metric", "train_tme_s"], "did you mean 'train_time_s'?"),
        (["compare", "small.yaml", "--axis", "jobs[train].steps"], "is not of the form PATH=V1,V2"),
        (["compare", "small.yaml", "--axis", "jobs[train].step=1,2"], "did you mean 'steps'?"),
        (["compare", "small.yaml", "--axis", "jobs[train].steps=1,zwei"], "zwei"),
        (["compare", "small.yaml", "--axis", "jobs[train].steps=1,1"], "1 is there twice"),
        (
            ["compare", "small.yaml", "--axis", "jobs[0].steps=1", "--axis", "jobs[train].steps=2"],
            "'jobs[0].steps' and 'jobs[train].steps' are the same field",
        ),
        (
            ["compare", "small.yaml", "--axis", "jobs[train].steps=1", "--axis", "jobs[train].steps=2"],
            "'jobs[train].steps' and 'jobs[train].steps' are the same field",
        ),
        (["compare", "small.yaml", "--axis", "jobs[0].placement={policy: random}"], "one is a part of the other"),
        (["run", "small.yaml", "--set", "description=\udcff"], "is not UTF-8"),
        (["compare", "small.yaml", "--axis", "name=\udcff"], "is not UTF-8"),
        (["run", "small.yaml", "--set", "jobs[train].steps=1000000000"], "steps are possible"),
        (["run", "small.yaml", "--out", "small.yaml"], "small.yaml: Not a directory"),
        (["list", "device"], "did you mean 'devices'?"),
        (["check", "small.yaml", "nowhere.yaml"], "nowhere.yaml: no such file"),
    ],
)
def test_mistakes_end_with_two_and_a_message(
    arguments: list[str], message: str, scenario: str, capsys: pytest.CaptureFixture
) -> None:
    assert exit_code(arguments) == MISUSED
    assert message in capsys.readouterr().err


def test_each_problem_has_a_line(scenario: str, small: dict, capsys: pytest.CaptureFixture) -> None:
    small["jobs"][0] |= {"workers": 0, "steps": -1}
    Path(scenario).write_text(yaml.safe_dump(small))
    assert exit_code(["run", scenario]) == MISUSED
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 2
    assert all(line.startswith("small.yaml:") for line in err.splitlines())


def test_nothing_to_compare(scenario: str, capsys: pytest.CaptureFixture) -> None:
    small = yaml.safe_load(Path(scenario).read_text())
    del small["compare"]
    Path(scenario).write_text(yaml.safe_dump(small))
    assert exit_code(["compare", scenario]) == MISUSED
    assert "--axis jobs[0].placement.policy=" in capsys.readouterr().err
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (DeadlockError("nobody moves", 1.0), (FAILED, "Error: at 1 s: nobody moves")),
        (WorkerError("gone"), (FAILED, "Error: gone")),
        (KeyboardInterrupt(), (INTERRUPTED, "interrupted")),
        (MemoryError(), (FAILED, "Error: out of memory")),
        (PermissionError(13, "Permission denied", "results/x"), (MISUSED, "Error: results/x: Permission denied")),
        (OSError(28, "No space left on device", "results/x"), (FAILED, "Error: results/x: No space left on device")),
    ],
)
def test_failures_have_their_own_codes(
    error: BaseException,
    expected: tuple[int, str],
    scenario: str,
    capsys: pytest.CaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("hetsim.experiment.api.run", fail)
    assert exit_code(["run", scenario]) == expected[0]
    assert expected[1] in capsys.readouterr().err


def test_check_counts_what_it_found(scenario: str, capsys: pytest.CaptureFixture) -> None:
    assert exit_code(["check", scenario]) == 0
    assert capsys.readouterr().out == "small.yaml: ok, 4 hosts, 4 devices, 1 job, 2 points to compare\n"


def test_list_describes_everything(capsys: pytest.CaptureFixture) -> None:
    assert exit_code(["list"]) == 0
    out = capsys.readouterr().out
    for name in ("V100", "PCIe3-x16", "resnet50", "imagenet", "default-tensorflow", "ring", "train_time_s", "star"):
        (line,) = [line for line in out.splitlines() if line.split()[:1] == [name]]
        assert len(line.split()) > 3, line
    assert exit_code(["list", "scenarios"]) == 0
    assert "busy-datacenter" in capsys.readouterr().out


def test_init_writes_a_scenario_that_is_sound_and_keeps_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert exit_code(["init"]) == 0
    assert exit_code(["check", "scenario.yaml"]) == 0
    Path("scenario.yaml").write_text("mine")
    assert exit_code(["init"]) == MISUSED
    assert "--force" in capsys.readouterr().err
    assert Path("scenario.yaml").read_text() == "mine"
    assert exit_code(["init", "--force"]) == 0
    assert Path("scenario.yaml").read_text() != "mine"


def test_schema_is_json(capsys: pytest.CaptureFixture) -> None:
    assert exit_code(["schema"]) == 0
    assert "jobs" in json.loads(capsys.readouterr().out)["properties"]


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"]])
def test_help_is_light(arguments: list[str]) -> None:
    script = (
        "import sys; from hetsim.__main__ import exit_code; code = exit_code(sys.argv[1:]);"
        f"heavy = sorted(set(sys.modules) & set({HEAVY!r})); sys.exit(code or ', '.join(heavy) or 0)"
    )
    done = python("-c", script, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert "hetsim" in done.stdout


def test_same_bytes_in_two_processes_with_any_hash_seed(scenario: str) -> None:
    folders = []
    for seed in ("0", "12345"):
        done = python("-m", "hetsim", "compare", scenario, "--out", seed, env={"PYTHONHASHSEED": seed})
        assert (done.returncode, done.stderr) == (0, "")
        (folder,) = Path(seed).iterdir()
        folders.append({path.name: path.read_bytes() for path in folder.iterdir()} | {"": folder.name.encode()})
    assert folders[0] == folders[1]


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")
def test_reader_that_leaves_early_hears_nothing() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "hetsim", "list"],
        stdout=writing,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@contextmanager
def endless(scenario: str, processes: str) -> Iterator[subprocess.Popen]:
    """Return a run that works on more replications than it will ever end."""
    command = ["run", scenario, "--replications", "100000", "--processes", processes, "--engine", "simpy", "--no-save"]
    job = subprocess.Popen(
        [sys.executable, "-m", "hetsim", *command],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        start_new_session=True,
        # A shell starts what it puts into the background with interrupts ignored, and that is inherited.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            job.communicate(timeout=6)
        yield job
    finally:
        with suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)


def group_is_gone(group: int) -> bool:
    """Return whether no process of a group is left, within a while."""
    for _ in range(200):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("processes", ["1", "2"])
def test_interrupt_ends_quietly(processes: str, scenario: str) -> None:
    with endless(scenario, processes) as job:
        os.killpg(job.pid, signal.SIGINT)
        _, err = job.communicate(timeout=20)
        assert (job.returncode, err.strip()) == (INTERRUPTED, "interrupted")
        assert group_is_gone(job.pid)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("processes", ["1", "2"])
def test_termination_ends_quietly_and_leaves_no_worker(processes: str, scenario: str) -> None:
    with endless(scenario, processes) as job:
        job.terminate()
        _, err = job.communicate(timeout=20)
        assert (job.returncode, err.strip()) == (TERMINATED, "terminated") == (143, "terminated")
        assert group_is_gone(job.pid)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_workers_end_with_a_parent_that_is_killed(scenario: str) -> None:
    with endless(scenario, "2") as job:
        job.kill()
        job.communicate(timeout=20)
        assert group_is_gone(job.pid)


@pytest.mark.skipif(os.name != "posix", reason="the shell of POSIX")
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("run {scenario} --no-save >&-", 0),
        ("run {scenario} --no-save >&- 2>&-", 0),
        ("run nowhere.yaml 2>&-", MISUSED),
        ("run nowhere.yaml 2>&1 | true", MISUSED),
        ("run --bogus 2>&1 | true", MISUSED),
        ("check {scenario} nowhere.yaml 2>/dev/null | true", MISUSED),
        ("list | true", 0),
        ("list > /dev/full", FAILED),
        ("init /dev/full --force", FAILED),
    ],
)
def test_streams_that_are_closed_or_full_change_no_exit_code(command: str, code: int, scenario: str) -> None:
    if "/dev/full" in command and not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    before, bar, after = f"{sys.executable} -m hetsim {command.format(scenario=scenario)}".partition(" |")
    shell = f"{{ {before}; echo $? > code; }}{bar}{after}"
    done = subprocess.run(
        ["sh", "-c", shell], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False
    )
    assert "Traceback" not in done.stderr
    assert int(Path("code").read_text()) == code
    assert ("No space left on device" in done.stderr) == ("full" in command)


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_a_link_to_nothing_is_no_folder_for_results(scenario: str, capsys: pytest.CaptureFixture) -> None:
    Path("dangling").symlink_to("nowhere")
    for out in ("dangling", "dangling/deep"):
        assert exit_code(["run", scenario, "--out", out]) == MISUSED
        assert "dangling: this link leads to nothing" in capsys.readouterr().err


def test_a_full_disk_is_no_mistake_in_the_command(
    scenario: str, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    assert exit_code(["run", scenario, "--quiet"]) == FAILED
    assert capsys.readouterr().err.startswith(f"Error: {Path('results', 'small-')}")


def test_a_run_needs_none_of_the_points_of_the_comparison(scenario: str, capsys: pytest.CaptureFixture) -> None:
    explicit = "jobs[train].placement={policy: explicit, workers: [idle-0/gpu0, idle-1/gpu0], servers: [idle-0]}"
    assert exit_code(["run", scenario, "--set", explicit, "--no-save"]) == 0
    assert "train ran on idle-0/gpu0, idle-1/gpu0" in capsys.readouterr().out
    assert exit_code(["compare", scenario, "--set", explicit, "--no-save"]) == 2


def test_a_policy_may_lie_beside_the_scenario(scenario: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from hetsim.model.placement import Placement\n"
        "def last(view):\n"
        '    """Take the last devices."""\n'
        "    return Placement(tuple(s.device for s in view.slots[-view.job.n_workers:]), (view.hosts[-1].name,))\n",
        encoding="utf-8",
    )
    hetsim = Path(sys.executable).with_name("hetsim")
    command = [str(hetsim), "run", scenario, "--set", "jobs[train].placement.policy=mine:last", "--no-save"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "train ran on idle-0/gpu0, idle-1/gpu0; servers on idle-1" in done.stdout
