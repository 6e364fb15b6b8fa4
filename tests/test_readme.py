"""The README is true: its commands have the promised form, its examples run."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
import yaml

from hetsim import compare, run
from hetsim.__main__ import cli

pytest_plugins = ("pytester",)

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_the_first_two_shell_blocks_are_one_line_each_and_do_everything() -> None:
    first, second = blocks("sh")[:2]
    for block in (first, second):
        assert block.count("\n") == 1
        assert block.startswith("python3 -m venv .venv && .venv/bin/pip install ")
    assert ".venv/bin/hetsim compare scenarios/" in first
    assert "-e '.[test]' && .venv/bin/pytest" in second


def test_the_scenario_runs() -> None:
    (content,) = (yaml.safe_load(block) for block in blocks("yaml"))
    content["replications"] = 2
    content["jobs"][0]["steps"] = 2
    comparison = compare(content)
    assert [row.labels["jobs[train].aggregation.policy"] for row in comparison.rows] == ["parameter-server", "ring"]
    assert comparison.unread == ()


def test_the_python_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    code = blocks("python")[0]
    script = tmp_path / "example.py"
    script.write_text(code, encoding="utf-8")
    monkeypatch.chdir(ROOT)
    runpy.run_path(str(script))
    shown = capsys.readouterr().out
    assert "train_time_s" in shown
    assert "infrastructure-aware" in shown


def test_the_policy_and_the_golden_test_run(
    monkeypatch: pytest.MonkeyPatch, small: dict[str, Any], pytester: pytest.Pytester
) -> None:
    _, golden, policy = blocks("python")
    pytester.makepyfile(mine=policy, test_golden=golden)
    monkeypatch.syspath_prepend(pytester.path)
    small["jobs"][0] |= {"workers": 4, "aggregation": {"policy": "mine:PAIRED", "size": 2}}
    assert "over 2 members: ring with 2 ranks" in str(run(small).manifest())
    small["jobs"][0]["aggregation"] = {"policy": "ring"}
    pytester.path.joinpath("my.yaml").write_text(yaml.safe_dump(small), encoding="utf-8")
    lean = ("-p", "no:hypothesispytest", "-p", "no:cacheprovider")
    pytester.runpytest_inprocess(*lean).assert_outcomes(failed=1)
    pytester.runpytest_inprocess(*lean, "--hetsim-update").assert_outcomes(passed=1)
    pytester.runpytest_inprocess(*lean).assert_outcomes(passed=1)


def test_every_command_is_in_the_table() -> None:
    for command in cli.commands:
        assert f"`hetsim {command}" in README, command


def test_every_folder_and_file_named_is_there() -> None:
    named = {path for path in re.findall(r"`((?:hetsim|tests|scenarios)/[\w./-]+)`", README) if "<" not in path}
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
