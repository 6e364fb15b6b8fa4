"""A small valid scenario as Python objects, for the tests beside it."""

import pytest

from hetsim.errors import ScenarioError
from hetsim.scenario.load import load

HOST = {
    "name": "a",
    "count": 2,
    "devices": [{"type": "V100", "count": 2}],
    "cpu": {"type": "Xeon-E5-2686v4"},
    "memory": "64 GiB",
    "nic": "10 Gbit/s",
}
KNOWN = {
    "name": "known",
    "cluster": {"hosts": [HOST], "topology": {"kind": "star", "latency": "25 us"}},
    "jobs": [{"name": "train", "compute": "60 ms", "gradient": "102 MB", "workers": 2, "steps": 10}],
}


def messages(source, overrides=()):
    with pytest.raises(ScenarioError) as caught:
        load(source, overrides)
    return [str(issue) for issue in caught.value.issues]
