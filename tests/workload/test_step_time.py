import dataclasses
import statistics

import pytest

from hetsim.errors import HetsimError
from hetsim.model.cluster import DeviceSpec
from hetsim.model.workload import StepTimeProfile
from hetsim.workload.step_time import EFFICIENCIES, step_time
from hetsim.workload.table import build_model


def _gpu(name, flop_per_s, memory_bytes_per_s):
    return DeviceSpec(
        name=name,
        kind="gpu",
        flop_per_s=flop_per_s,
        memory_bytes=16e9,
        memory_bytes_per_s=memory_bytes_per_s,
        source="vendor's data sheet",
    )


K80 = _gpu("K80", 4.368e12, 240e9)
P100 = _gpu("P100", 10.6e12, 732e9)
V100 = _gpu("V100", 15.7e12, 900e9)
RTX8000 = _gpu("Quadro RTX 8000", 16.3e12, 672e9)
CPU = DeviceSpec(
    name="Xeon", kind="cpu", flop_per_s=1e12, memory_bytes=0.0, memory_bytes_per_s=1e15, n_cores=16, source="test"
)
PROFILE = StepTimeProfile(
    model="resnet50",
    device="V100",
    forward_base_s=0.01,
    forward_per_sample_s=0.001,
    backward_base_s=0.02,
    backward_per_sample_s=0.002,
    min_batch=16,
    max_batch=128,
    input_pixels=224,
    source="a measurement",
)


@pytest.mark.parametrize(
    ("name", "device", "batch", "samples_per_s"),
    [
        # tensorflow.org, Performance > Benchmarks (May 2017), synthetic data, one GPU, fp32
        ("inception_v3", P100, 64, 142.0),
        ("resnet50", P100, 64, 219.0),
        ("resnet152", P100, 64, 91.8),
        ("alexnet", P100, 512, 2987.0),
        ("vgg16", P100, 64, 154.0),
        ("inception_v3", K80, 64, 30.5),
        ("resnet50", K80, 64, 51.9),
        ("resnet152", K80, 32, 20.0),
        ("alexnet", K80, 512, 656.0),
        ("vgg16", K80, 32, 35.4),
        # u39kun/deep-learning-benchmark README: V100 (p3), batch 16, fp32: TensorFlow 1.5 71.7 ms; PyTorch 0.3 136.5 ms
        ("vgg16", V100, 16, 16 / 71.7e-3),
        ("resnet152", V100, 16, 16 / 136.5e-3),
        # Oneflow-Inc/DLPerf, NGC PyTorch 20.03, V100-SXM2, fp32
        ("resnet50", V100, 128, 367.29),
        # lambdal/lambda-tensorflow-benchmark, Quadro RTX 8000, TensorFlow 2.2, fp32
        ("resnet50", RTX8000, 256, 328.26),
        ("vgg16", RTX8000, 256, 186.83),
    ],
)
def test_the_roofline_is_within_a_factor_of_two_of_rates_it_was_not_fitted_to(name, device, batch, samples_per_s):
    step = step_time(build_model(name), device, batch, ())
    assert step.basis == "assumed"
    assert 0.5 < batch / step.total_s / samples_per_s < 2.0


def test_the_backward_pass_takes_about_twice_the_forward_pass():
    ratios = [
        step.backward_s / step.forward_s
        for name in ("resnet50", "vgg16", "inception_v3", "mobilenet_v2")
        for step in [step_time(build_model(name), V100, 64, ())]
    ]
    assert 1.5 < statistics.mean(ratios) < 2.2


@pytest.mark.parametrize(("batch", "basis"), [(16, "measured"), (128, "measured"), (15, "derived"), (256, "derived")])
def test_a_profile_is_measured_only_inside_its_range(batch, basis):
    step = step_time(build_model("resnet50"), V100, batch, [PROFILE])
    assert step.basis == basis
    assert step.forward_s == pytest.approx(0.01 + 0.001 * batch)
    assert step.backward_s == pytest.approx(0.02 + 0.002 * batch)
    assert ("extrapolated" in step.method) == (basis == "derived")
    assert step.source == "a measurement"


@pytest.mark.parametrize(
    "change", [{"model": "resnet101"}, {"device": "P100"}, {"input_pixels": 32}], ids=["model", "device", "pixels"]
)
def test_a_profile_of_something_else_is_not_used(change):
    profile = dataclasses.replace(PROFILE, **change)
    assert step_time(build_model("resnet50"), V100, 64, [profile]).basis == "assumed"


def test_a_profile_is_not_used_for_the_other_stem():
    profile = dataclasses.replace(PROFILE, model="resnet18", input_pixels=32)
    assert step_time(build_model("resnet18", (3, 32, 32)), V100, 64, [profile]).basis == "measured"
    assert step_time(build_model("resnet18", (3, 32, 32), stem="imagenet"), V100, 64, [profile]).basis == "assumed"


def test_of_two_profiles_the_nearer_range_wins():
    far = dataclasses.replace(PROFILE, min_batch=1, max_batch=8, source="far")
    step = step_time(build_model("resnet50"), V100, 14, [far, PROFILE])
    assert (step.basis, step.source) == ("derived", "a measurement")


def test_compute_bound_work_on_a_cpu_scales_with_its_cores():
    model = build_model("resnet18")
    whole = step_time(model, CPU, 8, ())
    half = step_time(model, CPU, 8, (), n_cores=8)
    assert half.total_s == pytest.approx(2 * whole.total_s, rel=1e-3)
    assert step_time(model, CPU, 8, (), n_cores=16) == whole


def test_one_convolution_follows_the_roofline_by_hand():
    model = build_model("lenet5")
    first = dataclasses.replace(model, layers=model.layers[:1])  # 6 filters of 5x5 on 32x32, 28x28 outputs, with bias
    share = EFFICIENCIES["gpu"]
    step = step_time(first, V100, 64, ())
    arithmetic_s = 64 * 2 * 150 * 784 / (15.7e12 * share.conv_frac)
    traffic_s = 4 * (64 * (1024 + 4704) + 156) / (900e9 * share.memory_frac)
    assert step.forward_s == pytest.approx(max(arithmetic_s, traffic_s) + share.kernel_overhead_s)
    backward_traffic_s = 4 * (64 * (1024 + 4704) + 2 * 156) / (900e9 * share.memory_frac)
    optimizer_s = 5 * 4 * 156 / (900e9 * share.memory_frac) + 2 * share.kernel_overhead_s
    assert step.backward_s == pytest.approx(
        max(arithmetic_s, backward_traffic_s) + share.kernel_overhead_s + optimizer_s
    )


def test_a_step_has_at_least_one_sample():
    with pytest.raises(HetsimError, match="resnet50 on V100 needs at least one sample, not 0"):
        step_time(build_model("resnet50"), V100, 0, ())
