"""Updates to a target, as a scenario writes them."""

import json
import math

import pytest
from known_scenario import KNOWN, messages

from hetsim import load, run
from hetsim.catalog.convergence import efficiency_of
from hetsim.metrics.efficiency import DELAY_SOURCE
from hetsim.scenario.build import build_cluster, build_jobs
from hetsim.scenario.reads import reads, unread

MODEL = {"model": "resnet50", "dataset": "imagenet", "batch": 64, "compute": None, "gradient": None}


def scenario(**job):
    content = json.loads(json.dumps(KNOWN))
    content["jobs"][0] |= job
    return content


def known(**job):
    (found,) = build_jobs(load(scenario(**job)))
    return found.convergence


def test_left_out_it_is_what_the_catalog_knows():
    assert known() is None
    assert known(**MODEL | {"model": "vgg16"}) is None
    assert known(**MODEL) == efficiency_of("resnet50", "imagenet", batch=2 * 64)
    assert known(**MODEL).basis == "derived"  # 128 samples, the runs had 200 and more
    assert known(**MODEL | {"batch": 128}).basis == "measured"


def test_figures_of_the_scenario_go_before_the_catalog():
    found = known(
        **MODEL, convergence={"min_steps": 7000, "noise_batch": 1e4, "delay_factor": 0.5, "target": "BLEU 25"}
    )
    assert (found.min_steps, found.noise_batch, found.delay_factor, found.delay_exponent) == (7000.0, 1e4, 0.5, 1.0)
    assert (found.target, found.source, found.basis) == ("BLEU 25", "scenario", "assumed")
    found = known(batch=8, convergence={"min_steps": 1, "noise_batch": 0})
    assert (found.min_steps, found.noise_batch, found.target) == (1.0, 0.0, "the target of the scenario")


def test_the_cost_of_delay_and_the_target_alone_go_with_the_catalog():
    found = known(**MODEL | {"batch": 128}, convergence={"delay_factor": 0, "delay_exponent": 2})
    row = efficiency_of("resnet50", "imagenet", batch=256)
    assert (found.delay_factor, found.delay_exponent) == (0.0, 2.0)
    assert (found.min_steps, found.target, found.basis) == (row.min_steps, "top-1 75 %", "measured")
    found = known(**MODEL | {"batch": 128}, convergence={"target": "top-1 75.9 %"})
    assert found == efficiency_of("resnet50", "imagenet", batch=256, target="top-1 75.9 %")
    assert (found.target, found.basis) == ("top-1 75.9 %", "derived")


@pytest.mark.parametrize(
    ("job", "convergence", "message"),
    [
        ({"batch": 8}, {"min_steps": 5}, ".noise_batch: required with min_steps"),
        ({"batch": 8}, {"noise_batch": 5}, ".min_steps: required with noise_batch"),
        ({"batch": 8}, {}, ": says nothing: write one of min_steps, noise_batch"),
        ({"batch": 8}, 5000, ": must be a mapping of keys to values"),
        ({"batch": 8}, {"min_step": 5, "noise_batch": 5}, ".min_step: no key 'min_step'; did you mean 'min_steps'?"),
        ({"batch": 8}, {"min_steps": 0, "noise_batch": 5}, ".min_steps: must be more than 0, not 0"),
        ({"batch": 8}, {"min_steps": math.inf, "noise_batch": 5}, ".min_steps: must be finite"),
        ({"batch": 8}, {"min_steps": 5, "noise_batch": "8 k"}, ".noise_batch: must be a number, not '8 k'"),
        ({"batch": 8}, {"delay_factor": 2}, ": the catalog has figures of models: write min_steps and noise_batch"),
        (MODEL, {"delay_factor": -1}, ".delay_factor: must be at least 0, not -1"),
        (MODEL, {"delay_exponent": 0}, ".delay_exponent: must be more than 0, not 0"),
        (MODEL, {"target": "top-1 75.8 %"}, ".target: no target 'top-1 75.8 %'; did you mean 'top-1 75.9 %'?"),
        (
            MODEL | {"model": "vgg16"},
            {"delay_factor": 2},
            ": no figures of vgg16 on imagenet: write min_steps and noise_batch. Known: resnet18 on cifar10, resnet50",
        ),
    ],
)
def test_what_is_wrong_is_said_once(job, convergence, message):
    (found,) = messages(scenario(**job, convergence=convergence))
    assert f"jobs[train].convergence{message}" in found


def test_known_compute_times_need_a_batch():
    (found,) = messages(scenario(convergence={"min_steps": 5, "noise_batch": 5}))
    assert "jobs[train].batch: required with convergence" in found


def test_what_is_wrong_elsewhere_is_not_said_of_convergence():
    for change in ({"model": "resnot50"}, {"dataset": "imagenot"}, {"batch": "many"}):
        (found,) = messages(scenario(**MODEL | change, convergence={"delay_factor": 2}))
        assert "convergence" not in found
    (found,) = messages(scenario(batch="many", convergence={"min_steps": 5, "noise_batch": 5}))
    assert "convergence" not in found


def test_what_is_written_is_read_and_resolves_to_itself():
    every = {"min_steps": 5, "noise_batch": 6, "delay_factor": 2, "delay_exponent": 0.5, "target": "half"}
    loaded = load(scenario(batch=8, convergence=every))
    with reads() as seen:
        build_cluster(loaded)
        build_jobs(loaded)
    assert [path for path in unread(loaded, seen) if "convergence" in path] == []
    again = load(loaded.resolved())
    assert again.resolved() == loaded.resolved()
    assert build_jobs(again) == build_jobs(loaded)


def test_without_the_field_a_scenario_resolves_as_it_did():
    assert "convergence" not in load(scenario(**MODEL)).resolved()["jobs"][0]
    stated = load(scenario(batch=8, convergence={"min_steps": 5, "noise_batch": 6})).resolved()
    assert stated["jobs"][0].pop("convergence") == {"min_steps": 5.0, "noise_batch": 6.0}
    assert stated == load(scenario(batch=8)).resolved()


def test_one_figure_can_be_overridden_and_compared():
    overrides = ["jobs[train].convergence.delay_factor=0.5"]
    (job,) = build_jobs(load(scenario(**MODEL), overrides))
    assert job.convergence.delay_factor == 0.5
    axis = {"compare": {"jobs[train].convergence.delay_factor": [0, 1]}}
    assert load(scenario(**MODEL) | axis).axes == axis["compare"]


def inputs_of(**job):
    return [item for item in run(scenario(**job)).inputs if "train" in item.input and "step time" not in item.input]


def test_inputs_name_basis_and_source():
    assert inputs_of() == []
    figures, delay = inputs_of(**MODEL | {"batch": 128})
    row = efficiency_of("resnet50", "imagenet", batch=256)
    assert figures.input.startswith(
        "convergence of train to top-1 75 %: 4998 updates at least, twice as many at batch "
    )
    assert (figures.basis, figures.method, figures.source) == ("measured", row.method, row.source)
    assert delay.input == "cost of delay of train: 1 x (mean delay in updates) ^ 1 of the noiseless part"
    assert (delay.basis, delay.source) == ("assumed", DELAY_SOURCE)


def test_inputs_of_the_scenario_are_assumed():
    stated = {"min_steps": 500, "noise_batch": 64, "delay_factor": 0.25}
    figures, delay = inputs_of(batch=8, convergence=stated)
    assert figures.input.endswith("the target of the scenario: 500 updates at least, twice as many at batch 64")
    for item in (figures, delay):
        assert (item.basis, item.method, item.source) == ("assumed", "given in the scenario", "scenario")
