import pytest

from hetsim.errors import HetsimError
from hetsim.model.workload import Variable
from hetsim.workload.memory import CONTEXT_BYTES, server_bytes, update_traffic_bytes, worker_bytes, worker_memory
from hetsim.workload.table import build_model

K80_BYTES = 11.17 * 2**30
P100_BYTES = 16 * 2**30


@pytest.mark.parametrize(
    ("name", "batch", "device_bytes"),
    [  # ran on these devices: tensorflow.org, Performance > Benchmarks (2017)
        ("resnet50", 64, K80_BYTES),
        ("resnet152", 32, K80_BYTES),
        ("inception_v3", 64, K80_BYTES),
        ("vgg16", 32, K80_BYTES),
        ("alexnet", 512, K80_BYTES),
        ("resnet152", 64, P100_BYTES),
        ("vgg16", 64, P100_BYTES),
        ("alexnet", 512, P100_BYTES),
    ],
)
def test_what_ran_fits(name, batch, device_bytes):
    assert 1e9 < worker_bytes(build_model(name), batch) < device_bytes


@pytest.mark.parametrize(("name", "batch"), [("resnet152", 64), ("resnet50", 128)])
def test_what_is_too_large_for_a_k80_does_not_fit(name, batch):
    assert worker_bytes(build_model(name), batch) > K80_BYTES


def test_the_parts_are_as_documented():
    model = build_model("lenet5")
    memory = worker_memory(model, 10, optimizer_slots=2)
    assert memory.parameter_bytes == memory.gradient_bytes == 4 * 61_706
    assert memory.optimizer_bytes == 8 * 61_706
    assert memory.activation_bytes == 10 * model.saved_bytes
    assert memory.workspace_bytes == CONTEXT_BYTES + 2 * 10 * 4 * 6 * 28 * 28
    parts = (memory.parameter_bytes, memory.gradient_bytes, memory.optimizer_bytes)
    assert memory.total_bytes == sum(parts) + memory.activation_bytes + memory.workspace_bytes


def test_a_server_holds_one_gradient_for_each_worker():
    assert server_bytes([Variable("a", 100), Variable("b", 150)], 4) == 1000 * (1 + 1 + 1 + 4)
    assert server_bytes([Variable("a", 100)], 1, optimizer_slots=0) == 400 * 3
    assert update_traffic_bytes(1000.0) == 8000.0


def test_a_batch_has_at_least_one_sample():
    with pytest.raises(HetsimError, match="lenet5 needs at least one sample, not 0"):
        worker_bytes(build_model("lenet5"), 0)
