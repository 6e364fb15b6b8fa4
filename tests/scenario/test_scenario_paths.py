from pathlib import Path

import pytest

from hetsim.errors import ScenarioError
from hetsim.scenario.load import load
from hetsim.scenario.paths import value_of

VALID = Path(__file__).parent / "valid.yaml"


@pytest.mark.parametrize(
    ("override", "where", "value"),
    [
        ("cluster.hosts[v100].memory=64GiB", ("cluster", "hosts", 0, "memory"), "68719476736.0 B"),
        ("cluster.hosts[1].memory=1 GiB", ("cluster", "hosts", 1, "memory"), "1073741824.0 B"),
        ("jobs[train].workers=1", ("jobs", 0, "workers"), 1),
        ("jobs[0].batch=16", ("jobs", 0, "batch"), 16),
        ("jobs[known].jitter.cv=0.2", ("jobs", 1, "jitter", "cv"), 0.2),
        ("jobs[known].jitter={cv: 0.3}", ("jobs", 1, "jitter", "cv"), 0.3),
        ("jobs[known].compute=[1 ms, 2 ms]", ("jobs", 1, "compute"), ["0.001 s", "0.002 s"]),
        ("jobs[known].placement.policy=random", ("jobs", 1, "placement", "policy"), "random"),
        ("jobs[known].aggregation.order=host", ("jobs", 1, "aggregation", "order"), "host"),
        ("description=a = b", ("description",), "a = b"),
        (
            "cluster.hosts[v100].background.cpu[1].share=0.7",
            ("cluster", "hosts", 0, "background", "cpu", 1, "share"),
            0.7,
        ),
    ],
)
def test_an_override_sets_a_field(override, where, value):
    node = load(VALID, [override]).resolved()
    for step in where:
        node = node[step]
    assert node == value


def test_later_overrides_win():
    assert load(VALID, ["seed=4", "seed=5"]).seed == 5


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "jobs[train].worker=2",
            "--set jobs[train].worker=2: no key of jobs[train] 'worker'; did you mean 'workers'? ",
        ),
        ("job[train].workers=2", "--set job[train].workers=2: no key 'job'; did you mean 'jobs'? Known: name, "),
        (
            "jobs[trian].workers=2",
            "--set jobs[trian].workers=2: no item of jobs 'trian'; did you mean 'train'? Known: ",
        ),
        ("jobs[7].workers=2", "--set jobs[7].workers=2: no item of jobs '7'. Known: train, known"),
        ("seed[0]=2", "--set seed[0]=2: seed is no list, so it has no item [0]"),
        ("jobs.workers=2", "--set jobs.workers=2: jobs is a list: name one of its items, as in jobs[0].workers"),
        ("seed.x=2", "--set seed.x=2: seed is 3, which has no keys"),
        ("seed", "--set seed: write it as path=value, such as jobs[train].workers=8"),
        ("=3", "--set =3: '' is no field path: write it like cluster.hosts[v100].memory"),
        ("seed=[1", "--set seed=[1: not valid YAML"),
        (
            "jobs[train].batch=many",
            "--set jobs[train].batch=many: jobs[train].batch: must be a whole number, not 'many'",
        ),
        (
            "jobs[train].workers=99",
            "--set jobs[train].workers=99: jobs[train].workers: 99 workers, but the cluster has ",
        ),
    ],
)
def test_a_wrong_override_is_reported_with_its_text(override, message):
    with pytest.raises(ScenarioError) as caught:
        load(VALID, [override])
    assert str(caught.value).startswith(message)


def test_all_wrong_overrides_are_reported():
    with pytest.raises(ScenarioError) as caught:
        load(VALID, ["sed=1", "job=2"])
    assert len(caught.value.issues) == 2


@pytest.mark.parametrize(
    ("text", "value"), [("8", 8), ("64 GiB", "64 GiB"), ("[1, no]", [1, "no"]), ("{a: 1e3}", {"a": 1000.0}), ("", None)]
)
def test_values_are_yaml(text, value):
    assert value_of(text) == value
