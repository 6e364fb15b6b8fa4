import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from known_scenario import KNOWN, messages

from hetsim.errors import ScenarioError
from hetsim.scenario.build import build_jobs
from hetsim.scenario.load import load, shipped
from hetsim.scenario.starter import starter


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("scenario") / "starter.yaml"
    path.write_text(starter(), encoding="utf-8")
    return path


def test_the_starter_loads(file):
    scenario = load(file)
    assert (scenario.name, scenario.seed, scenario.replications) == ("my-scenario", 1, 10)
    assert scenario.axes == {"jobs[train].placement.policy": ["default-tensorflow", "infrastructure-aware"]}


def test_a_mapping_gives_the_same_as_a_file(file, tmp_path):
    path = tmp_path / "known.json"
    path.write_text(json.dumps(KNOWN), encoding="utf-8")  # JSON is YAML
    assert load(path).resolved() == load(KNOWN).resolved()


def test_the_resolved_form_is_a_scenario_with_the_same_resolved_form(file):
    resolved = load(file).resolved()
    assert load(resolved).resolved() == resolved == json.loads(json.dumps(resolved))


def test_the_resolved_form_does_not_depend_on_how_a_quantity_is_written():
    other = json.loads(json.dumps(KNOWN).replace("10 Gbit/s", "1.25 GB/s").replace("64 GiB", "65536 MiB"))
    assert load(other).resolved() == load(KNOWN).resolved()


def test_the_resolved_form_holds_the_defaults_of_policies():
    job = load(KNOWN).resolved()["jobs"][0]
    assert job["placement"] == {"policy": "default-tensorflow", "servers": "colocated"}
    assert job["aggregation"] == {
        "policy": "parameter-server",
        "sync": "bsp",
        "staleness": 0,
        "period": 1,
        "local_after": 0,
        "quorum": 0,
        "late": "drop",
        "steps": "each",
        "sharding": "round-robin",
    }


def test_numpy_numbers_are_numbers():
    job = KNOWN["jobs"][0] | {"workers": np.int64(3), "jitter": {"cv": np.float64(0.1)}}
    scenario = load(KNOWN | {"jobs": [job]})
    assert scenario.resolved()["jobs"][0]["workers"] == 3


def test_other_objects_are_refused():
    assert messages(KNOWN | {"name": object()}) == ["scenario: an object of type object has no place in a scenario"]


def test_huge_numbers_are_refused_before_anybody_writes_them():
    (only,) = messages(KNOWN | {"seed": 10**5000})
    assert only == "scenario: a whole number of more than 400 digits has no place in a scenario"


def test_long_values_and_names_are_cut_in_messages():
    job = KNOWN["jobs"][0] | {"name": "x" * 10**5, "compute": "9" * 10**5 + " ms", "model": "y" * 10**5}
    found = messages(KNOWN | {"jobs": [job], "z" * 10**5: 1, "compare": {"seed": [["v" * 10**5]]}})
    assert len(found) == 5
    assert max(map(len, found)) < 400
    (only,) = messages(KNOWN | {"compare": {"seed": [1, 2], "jobs[train].workers": [99]}, "description": "d" * 10**5})
    assert len(only) < 200


def test_a_name_that_would_break_a_line_stands_for_no_path():
    (only,) = messages(KNOWN | {"jobs": [KNOWN["jobs"][0] | {"name": "x\ny"}]})
    assert only.startswith("scenario: jobs[0].name: 'x\\ny' is no name")


def test_characters_that_are_no_text_are_refused():
    with pytest.raises(ScenarioError, match="a character that is no text"):
        load(KNOWN, ["description=\udcff"])


def test_gradients_are_exact_to_the_byte():
    sizes = ["101 B", "1 B", "0.5 B", "102 MB"]
    (job,) = build_jobs(load(KNOWN | {"jobs": [KNOWN["jobs"][0] | {"gradient": sizes}]}))
    assert [variable.n_bytes for variable in job.variables] == [101, 1, 1, 102_000_000]


def test_a_key_without_a_value_is_left_out():
    job = KNOWN["jobs"][0] | {"jitter": None, "placement": None, "servers": None, "model": None}
    assert load(KNOWN | {"jobs": [job], "seed": None, "measured": None}).resolved() == load(KNOWN).resolved()


def test_a_mapping_that_holds_itself_is_refused():
    source = dict(KNOWN)
    source["cluster"] = source
    assert messages(source) == ["scenario: nested more than 64 levels deep"]


def test_anchors_and_merge_keys_work(tmp_path):
    path = tmp_path / "anchors.yaml"
    text = starter().replace("    - name: old ", "    - &old\n      name: old ")
    text = text.replace("  topology:", "    - {<<: *old, name: older, count: 1}\n  topology:")
    path.write_text(text, encoding="utf-8")
    hosts = load(path).resolved()["cluster"]["hosts"]
    assert [host["name"] for host in hosts] == ["old", "new", "older"]
    assert hosts[2]["devices"] == hosts[0]["devices"]


def test_missing_files_and_folders_are_issues(tmp_path):
    (only,) = messages(tmp_path / "nothing.yaml")
    assert "no such file; no shipped scenario" in only
    (only,) = messages(tmp_path)
    assert "cannot be read" in only
    (only,) = messages("\0")
    assert "cannot be read" in only


def test_a_shipped_scenario_is_found_by_name_unless_there_is_such_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = next(iter(shipped()))
    assert load("busy-datacenter").name == "busy-datacenter"
    (tmp_path / name).write_text("[]", encoding="utf-8")
    assert "a scenario is a mapping" in messages(name)[0]


def test_large_files_are_refused(tmp_path):
    path = tmp_path / "large.yaml"
    path.write_bytes(b"#" * (4 * 2**20 + 1))
    assert "larger than 4 MiB" in messages(path)[0]


def test_with_values_gives_a_point_without_axes(file):
    scenario = load(file)
    point = scenario.with_values({"jobs[train].placement.policy": "random", "cluster.hosts[old].background.gpu": 0.5})
    assert point.resolved()["jobs"][0]["placement"]["policy"] == "random"
    assert point.resolved()["cluster"]["hosts"][0]["background"]["gpu"] == 0.5
    assert point.axes == {}
    assert scenario.resolved()["jobs"][0]["placement"]["policy"] == "default-tensorflow"


def test_with_values_reports_what_is_wrong_with_a_point(file):
    with pytest.raises(ScenarioError, match=r"jobs\[train\].workers=99: .*99 workers, but the cluster has 8 devices"):
        load(file).with_values({"jobs[train].workers": 99})
    with pytest.raises(ScenarioError, match="did you mean 'workers'"):
        load(file).with_values({"jobs[train].worker": 1})


def test_measured_rows_are_points():
    measured = {
        "metric": "samples_per_s",
        "source": "somewhere",
        "scale": "jobs[train].workers",
        "fields": ["jobs[train].workers"],
        "rows": [[1, 50.0], [2, 99]],
    }
    scenario = load(KNOWN | {"measured": measured})
    assert scenario.measured is not None
    assert scenario.measured.rows == ((1, 50.0), (2, 99))
    wrong = measured | {"rows": [[1], [1, -5], [9, 5]], "scale": "jobs[train].steps"}
    assert messages(KNOWN | {"measured": wrong}) == [
        "scenario: measured.scale: must be one of the fields: jobs[train].workers",
        "scenario: measured.rows[0]: 1 values for 1 fields and the measured value",
        "scenario: measured.rows[1][1]: the measured value must be a number above zero",
        "scenario: jobs[train].workers: 9 workers, but the cluster has 4 devices",
    ]


def test_what_linear_scaling_goes_by_is_a_number():
    measured = {"metric": "samples_per_s", "source": "somewhere", "scale": "jobs[0].gradient"}
    measured |= {"fields": ["jobs[train].gradient"], "rows": [["1 MB", 5], ["2 MB", 6]]}
    assert messages(KNOWN | {"measured": measured}) == [
        f"scenario: measured.rows[{index}][0]: the field that linear scaling goes by must be a number above zero, "
        f"not '{index + 1} MB'"
        for index in range(2)
    ]


def test_loading_imports_nothing_heavy():
    code = (
        "import sys; from hetsim.scenario.load import load; load(sys.argv[1]);"
        "print(sorted({'numba','pandas','scipy','matplotlib','networkx','simpy'} & set(sys.modules)))"
    )
    path = Path(__file__).parent / "valid.yaml"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
