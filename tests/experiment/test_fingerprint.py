"""A fingerprint is the same for the same question, and another for another."""

import dataclasses

from hetsim import run
from hetsim.experiment import fingerprint as module
from hetsim.experiment.fingerprint import fingerprint


def test_everything_that_decides_a_result_enters(small: dict, monkeypatch) -> None:
    setup = run(small).setup
    content = {"scenario": {"a": 1, "b": 2}}
    mark = fingerprint(content, [setup])
    assert len(mark) == 12
    assert mark == fingerprint({"scenario": {"b": 2, "a": 1}}, [setup, setup])
    assert mark != fingerprint({"scenario": {"a": 1, "b": 3}}, [setup])
    host = setup.cluster.hosts[0]
    cpu = dataclasses.replace(host.cpu, memory_bytes_per_s=1e9)
    other_host = dataclasses.replace(host, cpu=cpu)
    cluster = dataclasses.replace(setup.cluster, hosts=(other_host, *setup.cluster.hosts[1:]))
    assert mark != fingerprint(content, [dataclasses.replace(setup, cluster=cluster)])
    monkeypatch.setattr(module, "MODEL_VERSION", module.MODEL_VERSION + 1)
    assert mark != fingerprint(content, [setup])
