"""The command ``network``: what it prints and writes, and its mistakes."""

import json
from pathlib import Path

import pytest
import yaml

from hetsim.__main__ import MISUSED, exit_code


@pytest.fixture
def here(small: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(small, sort_keys=False))
    return tmp_path


def test_tables_and_files(here: Path, capsys: pytest.CaptureFixture) -> None:
    files = ["--out", "net.svg", "--graphml", "net.graphml", "--graph-json", "net.json", "--matrix", "net.csv"]
    assert exit_code(["network", "small.yaml", *files]) == 0
    out, err = capsys.readouterr()
    assert "Bottleneck rate, from row to column:" in out
    assert [line for line in out.splitlines() if line.startswith("wrote ")] == [
        "wrote net.graphml",
        "wrote net.json",
        "wrote net.csv",
        "wrote net.svg",
    ]
    assert err == ""
    assert (here / "net.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize(("option", "file"), [("--graphml", "net.graphml"), ("--graph-json", "net.json")])
def test_an_export_is_read_as_the_same_network(
    here: Path, small: dict, capsys: pytest.CaptureFixture, option: str, file: str
) -> None:
    assert exit_code(["network", "small.yaml", "--json", option, file]) == 0
    out, err = capsys.readouterr()
    assert err == f"wrote {file}\n"
    first = json.loads(out)
    small["cluster"]["topology"] = {"kind": "graph", "file": file}
    (here / "again.yaml").write_text(yaml.safe_dump(small, sort_keys=False))
    assert exit_code(["network", "again.yaml", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    for content in (first, again):
        content["links"] = sorted(
            (*sorted((link.pop("a"), link.pop("b"))), *sorted(link.items())) for link in content["links"]
        )
    assert again == first


def test_set_changes_the_network(here: Path, capsys: pytest.CaptureFixture) -> None:
    assert exit_code(["network", "small.yaml", "--set", "cluster.topology.latency=1 ms", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert {link["latency_s"] for link in content["links"]} == {1e-3}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "net.jpg"], "--out 'net.jpg' must end in .svg, .png or .pdf"),
        (["--graph-json", "net.graphml"], "must end in .json"),
        (["--graphml", "net.json"], "would be read as node-link JSON"),
        (["--graphml", "nowhere/net.graphml"], "nowhere/net.graphml: No such file or directory"),
        (["--set", "cluster.topology.kind=stars"], "did you mean 'star'?"),
    ],
)
def test_mistakes(here: Path, capsys: pytest.CaptureFixture, arguments: list[str], message: str) -> None:
    assert exit_code(["network", "small.yaml", *arguments]) == MISUSED
    assert message in capsys.readouterr().err
    assert {path.name for path in here.iterdir()} == {"small.yaml"}
