"""What a file says about its points is checked where it is written."""

import pytest

from hetsim.errors import ScenarioError
from hetsim.scenario.load import load

COMPARE = """\
compare:
  jobs[0].workers: [1, 2]
  %s: [1]
"""
MEASURED = """\
measured:
  metric: train_time_s
  source: made up
  scale: %s
  fields: [%s]
  rows: [%s]
"""
HEAD = """\
name: small
cluster:
  hosts: [{name: h, count: 4, devices: [{type: V100}], cpu: {type: Xeon-E5-2686v4}, memory: 61 GiB, nic: 10 Gbit/s}]
  topology: {kind: star, latency: 1 us}
jobs:
  - {name: a, compute: 1 s, gradient: 1 MB, workers: 1, steps: 2}
"""
SECOND = "  - {name: b, compute: 1 s, gradient: 1 MB, workers: 1, steps: 2}\n"
A, B = "'jobs[a].workers'", "'jobs[1].steps'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            COMPARE % "jobs[a].workers",
            "f.yaml:9:3: compare.jobs[a].workers: 'jobs[0].workers' and 'jobs[a].workers' are",
        ),
        (
            COMPARE % ".jobs[0].workers",
            "f.yaml:9:3: compare..jobs[0].workers: 'jobs[0].workers' and '.jobs[0].workers'",
        ),
        (COMPARE % "jobs[0]", "'jobs[0].workers' and 'jobs[0]' cannot both be set: one is a part of the other"),
        ("compare:\n  jobs[0].workers: [1, 2, 1]\n", "f.yaml:8:27: compare.jobs[0].workers: 1 is there twice"),
        (
            MEASURED % (A, f"{A}, 'jobs[0].workers'", "[1, 1, 2.0]"),
            "f.yaml:11:31: measured.fields[1]: 'jobs[a].workers'",
        ),
        (MEASURED % (A, A, "[1, 1.0e+308]"), "f.yaml:12:14: measured.rows[0][1]: the measured value must lie between"),
        (MEASURED % (A, A, "[1, 5.0e-324]"), "the measured value must lie between 1e-30 and 1e+30"),
        (MEASURED % (A, A, "[1, 0]"), "the measured value must be a number above zero"),
        (MEASURED % (A, A, "[1, 2, 3]"), "3 values for 1 fields and the measured value"),
        (MEASURED % (A, "seed", "[1, 2.0]"), "f.yaml:10:10: measured.scale: must be one of the fields: seed"),
        (
            SECOND + MEASURED % ("seed", "seed", "[1, 2.0]"),
            "measured.scale: seed belongs to no job, and there are several: name a field of the job that was measured",
        ),
    ],
)
def test_what_is_wrong_with_points(text: str, message: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yaml").write_text(HEAD + text)
    with pytest.raises(ScenarioError) as caught:
        load("f.yaml")
    assert len(caught.value.issues) == 1, str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        MEASURED % ("'jobs[0].workers'", A, "[1, 2.0], [1, 2.1]"),
        SECOND + MEASURED % (B, f"seed, {B}", "[1, 2, 2.0]"),
        MEASURED % ("seed", "seed", "[1, 2.0]"),
    ],
)
def test_a_measured_job_is_that_of_the_scale_or_the_only_one(text: str, tmp_path) -> None:
    (tmp_path / "f.yaml").write_text(HEAD + text)
    assert load(tmp_path / "f.yaml").measured is not None


def test_a_wrong_value_has_its_own_place_whatever_the_spelling(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yaml").write_text(HEAD + "compare:\n  jobs[0].workers: [1, 0]\n")
    with pytest.raises(ScenarioError, match=r"f\.yaml:8:24: jobs\[a\]\.workers"):
        load("f.yaml")
