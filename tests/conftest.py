"""What tests of several packages share."""

import copy

import pytest

from hetsim.kernels.jit import compile_all

# Before tests take functions from modules: small runs would do without, and tests of kernels are of compiled ones.
compile_all()

SMALL = {
    "name": "small",
    "description": "Two busy machines and two idle ones",
    "seed": 3,
    "replications": 3,
    "cluster": {
        "hosts": [
            {
                "name": name,
                "count": 2,
                "devices": [{"type": "V100"}],
                "cpu": {"type": "Xeon-E5-2686v4"},
                "memory": "64 GiB",
                "nic": "10 Gbit/s",
                "background": {"gpu": load},
            }
            for name, load in (("busy", 0.5), ("idle", 0.0))
        ],
        "topology": {"kind": "star", "latency": "25 us"},
    },
    "jobs": [
        {
            "name": "train",
            "compute": "60 ms",
            "gradient": "10 MB",
            "workers": 2,
            "steps": 5,
            "jitter": {"cv": 0.1},
            "placement": {"policy": "default-tensorflow"},
            "aggregation": {"policy": "parameter-server"},
        }
    ],
    "compare": {"jobs[train].placement.policy": ["default-tensorflow", "infrastructure-aware"]},
}


@pytest.fixture
def small() -> dict:
    """The content of a scenario file that runs in milliseconds."""
    return copy.deepcopy(SMALL)
