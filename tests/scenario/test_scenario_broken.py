"""Broken files, each with the exact message expected; names that a catalog may gain stand as ``<kind>``."""

from pathlib import Path

import pytest

from hetsim.errors import ScenarioError
from hetsim.scenario.load import load
from hetsim.scenario.policies import FAMILIES
from hetsim.scenario.tables import names

BROKEN = Path(__file__).parent / "broken"
FILES = sorted(path.name for path in BROKEN.glob("*.yaml"))
KINDS = ("device", "CPU", "bus", "peer link", "network link", "model", "data set", "transport")


def expected(file):
    text = (BROKEN / file).with_suffix(".txt").read_text(encoding="utf-8")
    for kind in KINDS:
        text = text.replace(f"<{kind}>", ", ".join(names(kind)))
    for family in FAMILIES.values():
        text = text.replace(f"<{family.kind}>", ", ".join(family.table))
    return text


@pytest.mark.parametrize("file", FILES)
def test_a_broken_file_gives_exactly_these_messages(file, monkeypatch):
    monkeypatch.chdir(BROKEN)
    with pytest.raises(ScenarioError) as caught:
        load(file)
    assert f"{caught.value}\n" == expected(file)


def test_there_are_at_least_thirty():
    assert len(FILES) >= 30
    assert {path.stem for path in BROKEN.glob("*.txt")} == {Path(file).stem for file in FILES}
