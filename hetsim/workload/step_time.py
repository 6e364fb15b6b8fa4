"""Time of one training step on one idle device: measured where a profile holds, else a roofline layer by layer.

**Roofline** (Williams, Waterman, Patterson, CACM 52(4), 2009): a layer's pass takes the longer of its arithmetic at a
share of the peak rate and its memory traffic at a share of the peak bandwidth, plus a fixed time for each kernel::

    t = max(flop / (peak * e_compute), bytes / (bandwidth * e_memory)) + n_kernels * overhead

Traffic is the layer's activations for the whole batch, its parameters once forward, and parameters and their gradients
once backward. The optimizer (SGD with momentum) belongs to the backward pass: it reads weight, gradient and momentum
and writes weight and momentum, 5 x 4 bytes a parameter, in one kernel for each variable. A convolution or linear layer
is one kernel forward and two backward (one if it is the first layer), every other layer one each way.

The shares are stated in `EFFICIENCIES`, one set for each kind of device, none for a single device or network. Those of
GPUs were chosen, from a fit of the logarithm, so that none of 28 published fp32 training rates on one GPU is missed by
more than a factor of 1.8: ResNet-18/50/152, VGG16 and MobileNetV2, batch 12, on GTX 1080 Ti, RTX 2080 Ti and Titan V
(ryujaehun/pytorch-gpu-benchmark, commit 3f47a9e); AlexNet, Inception-v3, ResNet-50/152 and VGG16 on RTX 2080 Ti and
A100 in TensorFlow 2.2 and 2.3 (lambdal/lambda-tensorflow-benchmark, commit c17619d); AlexNet, ResNet-18/50 and VGG16,
batch 16, on GTX 1080 (jcjohnson/cnn-benchmarks, commit 83d441f); AlexNet, Inception-v3 and ResNet-50/152 on one K80 die
(MXNet, performance guide and example/image-classification). A K80 is slower than the shares say, Turing and Ampere are
faster. 3x3 convolutions may exceed the peak: Winograd's algorithm does up to 2.25 times fewer multiplications than are
counted (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016).

Published CPU rates scatter more: Torch7 reaches 5 % of the peak of two E5-2630 v3 (jcjohnson/cnn-benchmarks, ResNet-50
batch 16: 6.63 s), PyTorch on one core of a current EPYC 134 GFLOP/s forward, which is near its peak (recorded for this
project, ResNet-18 at 64 pixels, batch 64). The CPU's shares lie between and may be wrong by a factor of 4.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hetsim.errors import HetsimError
from hetsim.model.cluster import DeviceSpec
from hetsim.model.workload import Layer, Model, StepTime, StepTimeProfile

OPTIMIZER_ACCESSES_PER_PARAMETER: Final = 5
"""SGD with momentum: read weight, gradient, momentum; write weight, momentum."""

_PRODUCTS: Final = ("conv", "depthwise-conv", "linear")


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """Shares of a device's peak that kernels reach.

    Parameters
    ----------
    conv_3x3_frac, conv_frac, depthwise_frac, linear_frac : float
        Of the peak fp32 rate, for convolutions with a 3x3 window, other convolutions, depthwise convolutions, and
        linear layers; the remaining layers are bound by memory and use `linear_frac`.
    memory_frac : float
        Of the peak memory bandwidth.
    kernel_overhead_s : float
        Fixed time of each kernel.
    source : str
        What the shares were fitted to.
    """

    conv_3x3_frac: float
    conv_frac: float
    depthwise_frac: float
    linear_frac: float
    memory_frac: float
    kernel_overhead_s: float
    source: str


EFFICIENCIES: Final[Mapping[str, Efficiency]] = {
    "gpu": Efficiency(
        conv_3x3_frac=1.5,
        conv_frac=0.55,
        depthwise_frac=0.02,
        linear_frac=0.8,
        memory_frac=0.45,
        kernel_overhead_s=10e-6,
        source="shares that meet 28 published one-GPU rates within a factor of 1.8",
    ),
    "cpu": Efficiency(
        conv_3x3_frac=0.25,
        conv_frac=0.25,
        depthwise_frac=0.1,
        linear_frac=0.25,
        memory_frac=0.6,
        kernel_overhead_s=0.0,
        source="shares between the 5 % and the nearly full peak seen, good to a factor of 4",
    ),
}
"""By kind of device."""


def step_time(
    model: Model,
    device: DeviceSpec,
    batch: int,
    profiles: Sequence[StepTimeProfile],
    n_cores: int | None = None,
) -> StepTime:
    """Return the time of one training step on an idle device.

    Parameters
    ----------
    model : Model
        The network.
    device : DeviceSpec
        The device.
    batch : int
        Samples of the step.
    profiles : sequence of StepTimeProfile
        Measurements; one that matches network, device and input size is used, inside its range of batches as measured,
        outside it as an extrapolation, which is marked ``derived``. Of several the nearest range wins.
    n_cores : int or None
        Cores of the host where the device is a CPU; its peak rate is scaled to them.

    Returns
    -------
    StepTime
        Forward and backward; the latter includes the optimizer.

    Raises
    ------
    HetsimError
        If the batch is not positive.

    Examples
    --------
    >>> from hetsim.workload.table import build_model
    >>> device = DeviceSpec(
    ...     name="V100",
    ...     kind="gpu",
    ...     flop_per_s=15.7e12,
    ...     memory_bytes=16e9,
    ...     memory_bytes_per_s=900e9,
    ...     source="data sheet",
    ... )
    >>> step = step_time(build_model("resnet50"), device, 64, ())
    >>> step.basis, 0.1 < step.total_s < 0.3
    ('assumed', True)
    """
    if batch < 1:
        raise HetsimError(f"a step of {model.name} on {device.name} needs at least one sample, not {batch}")
    fits = [
        profile
        for profile in profiles
        if (profile.model, profile.device) == (model.name, device.name)
        and (profile.input_pixels, profile.input_pixels) == model.input_shape[1:]
    ]
    if fits:
        return _from_profile(min(fits, key=lambda profile: _distance(profile, batch)), batch)
    return _roofline(model, device, batch, n_cores)


def _distance(profile: StepTimeProfile, batch: int) -> int:
    """Return how many samples a batch is outside the measured range."""
    return max(profile.min_batch - batch, batch - profile.max_batch, 0)


def _from_profile(profile: StepTimeProfile, batch: int) -> StepTime:
    is_inside = _distance(profile, batch) == 0
    measured = f"profile {profile.model} on {profile.device}, batch {profile.min_batch} to {profile.max_batch}"
    return StepTime(
        forward_s=profile.forward_base_s + profile.forward_per_sample_s * batch,
        backward_s=profile.backward_base_s + profile.backward_per_sample_s * batch,
        basis="measured" if is_inside else "derived",
        method=measured if is_inside else f"{measured}, extrapolated to batch {batch}",
        source=profile.source,
    )


def _roofline(model: Model, device: DeviceSpec, batch: int, n_cores: int | None) -> StepTime:
    share = EFFICIENCIES[device.kind]
    peak = device.flop_per_s
    if device.kind == "cpu" and n_cores is not None and device.n_cores:
        peak *= n_cores / device.n_cores
    memory = device.memory_bytes_per_s * share.memory_frac
    forward_s = backward_s = 0.0
    for index, layer in enumerate(model.layers):
        rate = peak * _compute_frac(layer, share)
        moved = batch * layer.forward_bytes + layer.gradient_bytes
        forward_s += max(batch * layer.forward_flop / rate, moved / memory) + share.kernel_overhead_s
        moved = batch * layer.backward_bytes + 2 * layer.gradient_bytes
        n_kernels = 2 if index > 0 and layer.kind in _PRODUCTS else 1
        backward_s += max(batch * layer.backward_flop / rate, moved / memory) + n_kernels * share.kernel_overhead_s
    updated = OPTIMIZER_ACCESSES_PER_PARAMETER * model.gradient_bytes
    backward_s += updated / memory + len(model.variables) * share.kernel_overhead_s
    return StepTime(
        forward_s=forward_s,
        backward_s=backward_s,
        basis="assumed",
        method=_describe(share),
        source=f"{share.source}; device: {device.source}",
    )


def _describe(share: Efficiency) -> str:
    return (
        f"roofline by layer: convolutions at {share.conv_frac:.0%} of peak fp32 (3x3 {share.conv_3x3_frac:.0%},"
        f" depthwise {share.depthwise_frac:.0%}), linear layers at {share.linear_frac:.0%},"
        f" memory at {share.memory_frac:.0%} of peak bandwidth, {share.kernel_overhead_s * 1e6:g} us a kernel"
    )


def _compute_frac(layer: Layer, share: Efficiency) -> float:
    if layer.kind == "conv":
        return share.conv_3x3_frac if layer.window == 9 else share.conv_frac
    return share.depthwise_frac if layer.kind == "depthwise-conv" else share.linear_frac
