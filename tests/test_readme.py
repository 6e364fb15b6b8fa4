"""The README is true: its commands have the promised form, its examples run."""

import re
import runpy
from pathlib import Path

import pytest
import yaml

from hetsim import compare
from hetsim.__main__ import cli

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
    (code,) = blocks("python")
    script = tmp_path / "example.py"
    script.write_text(code, encoding="utf-8")
    monkeypatch.chdir(ROOT)
    runpy.run_path(str(script))
    shown = capsys.readouterr().out
    assert "train_time_s" in shown
    assert "infrastructure-aware" in shown


def test_every_command_is_in_the_table() -> None:
    for command in cli.commands:
        assert f"`hetsim {command}" in README, command


def test_every_folder_and_file_named_is_there() -> None:
    named = {path for path in re.findall(r"`((?:hetsim|tests|scenarios)/[\w./-]+)`", README) if "<" not in path}
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
