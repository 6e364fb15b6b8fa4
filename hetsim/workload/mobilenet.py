"""MobileNets: networks of depthwise and pointwise convolutions.

V1: Howard et al., arXiv:1704.04861, table 1. V2: Sandler et al., CVPR 2018, table 2. V3: Howard et al., ICCV 2019,
tables 1 and 2, with torchvision's squeeze width (a quarter of the expanded channels, rounded to 8). Width multiplier 1.
The CIFAR stem is the same first convolution with stride 1; every later stride stays.
"""

from dataclasses import dataclass

from hetsim.model.workload import Layer
from hetsim.workload.builder import Network
from hetsim.workload.layers import Activation, Shape
from hetsim.workload.weighted import conv, linear
from hetsim.workload.weightless import activation, adaptive_pool, add, dropout, scale

_V1_BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2), (1024, 1))
"""(channels, stride) of each pair of depthwise and pointwise convolution."""

_V2_STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
"""(expansion, channels, blocks, stride of the first block)."""

_Row = tuple[int, int, int, bool, Activation, int]
"""The columns of V3's tables 1 and 2: kernel, expanded channels, channels, squeeze, activation, stride."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """An inverted residual: expand, filter each channel, squeeze and excite, project."""

    kernel: int
    expanded: int
    channels: int
    has_squeeze: bool
    function: Activation
    stride: int


def mobilenet_v1(input_shape: Shape, n_classes: int, *, cifar_stem: bool) -> tuple[Layer, ...]:
    """MobileNetV1: 13 pairs of depthwise and pointwise convolutions, 4.2 M parameters."""
    network = Network()
    x = network.conv_block("stem", input_shape, 32, stride=1 if cifar_stem else 2, is_first=True)
    for index, (channels, stride) in enumerate(_V1_BLOCKS, 1):
        x = network.depthwise_block(f"block{index}/filter", x, kernel=3, stride=stride, function="relu")
        x = network.conv_block(f"block{index}/project", x, channels, kernel=1)
    x = network.put(adaptive_pool("pool", x))
    network.put(linear("fc", x, n_classes))
    return network.layers


def mobilenet_v2(input_shape: Shape, n_classes: int, *, cifar_stem: bool) -> tuple[Layer, ...]:
    """MobileNetV2: 17 inverted residuals with linear bottlenecks, 3.5 M parameters."""
    network = Network()
    x = network.conv_block("stem", input_shape, 32, stride=1 if cifar_stem else 2, function="relu6", is_first=True)
    for stage, (expansion, channels, n_blocks, first_stride) in enumerate(_V2_STAGES, 1):
        for index in range(n_blocks):
            block = _Block(
                kernel=3,
                expanded=expansion * x[0],
                channels=channels,
                has_squeeze=False,
                function="relu6",
                stride=first_stride if index == 0 else 1,
            )
            x = _inverted_residual(network, f"stage{stage}/block{index + 1}", x, block)
    x = network.conv_block("head", x, 1280, kernel=1, function="relu6")
    x = network.put(adaptive_pool("pool", x))
    x = network.put(dropout("dropout", x))
    network.put(linear("fc", x, n_classes))
    return network.layers


def mobilenet_v3_small(input_shape: Shape, n_classes: int, *, cifar_stem: bool) -> tuple[Layer, ...]:
    """MobileNetV3-small: 11 inverted residuals with squeeze and excitation, 2.5 M parameters."""
    rows: tuple[_Row, ...] = (
        (3, 16, 16, True, "relu", 2),
        (3, 72, 24, False, "relu", 2),
        (3, 88, 24, False, "relu", 1),
        (5, 96, 40, True, "hard-swish", 2),
        (5, 240, 40, True, "hard-swish", 1),
        (5, 240, 40, True, "hard-swish", 1),
        (5, 120, 48, True, "hard-swish", 1),
        (5, 144, 48, True, "hard-swish", 1),
        (5, 288, 96, True, "hard-swish", 2),
        (5, 576, 96, True, "hard-swish", 1),
        (5, 576, 96, True, "hard-swish", 1),
    )
    return _mobilenet_v3(input_shape, n_classes, _blocks(rows), n_features=1024, cifar_stem=cifar_stem)


def mobilenet_v3_large(input_shape: Shape, n_classes: int, *, cifar_stem: bool) -> tuple[Layer, ...]:
    """MobileNetV3-large: 15 inverted residuals, 8 with squeeze and excitation, 5.5 M parameters."""
    rows: tuple[_Row, ...] = (
        (3, 16, 16, False, "relu", 1),
        (3, 64, 24, False, "relu", 2),
        (3, 72, 24, False, "relu", 1),
        (5, 72, 40, True, "relu", 2),
        (5, 120, 40, True, "relu", 1),
        (5, 120, 40, True, "relu", 1),
        (3, 240, 80, False, "hard-swish", 2),
        (3, 200, 80, False, "hard-swish", 1),
        (3, 184, 80, False, "hard-swish", 1),
        (3, 184, 80, False, "hard-swish", 1),
        (3, 480, 112, True, "hard-swish", 1),
        (3, 672, 112, True, "hard-swish", 1),
        (5, 672, 160, True, "hard-swish", 2),
        (5, 960, 160, True, "hard-swish", 1),
        (5, 960, 160, True, "hard-swish", 1),
    )
    return _mobilenet_v3(input_shape, n_classes, _blocks(rows), n_features=1280, cifar_stem=cifar_stem)


def _blocks(rows: tuple[_Row, ...]) -> tuple[_Block, ...]:
    return tuple(
        _Block(
            kernel=kernel, expanded=expanded, channels=channels, has_squeeze=squeeze, function=function, stride=stride
        )
        for kernel, expanded, channels, squeeze, function, stride in rows
    )


def _mobilenet_v3(
    input_shape: Shape, n_classes: int, blocks: tuple[_Block, ...], *, n_features: int, cifar_stem: bool
) -> tuple[Layer, ...]:
    network = Network()
    stride = 1 if cifar_stem else 2
    x = network.conv_block("stem", input_shape, 16, stride=stride, function="hard-swish", is_first=True)
    for index, block in enumerate(blocks, 1):
        x = _inverted_residual(network, f"block{index}", x, block)
    x = network.conv_block("head", x, 6 * x[0], kernel=1, function="hard-swish")
    x = network.put(adaptive_pool("pool", x))
    x = network.put(linear("fc1", x, n_features))
    x = network.put(activation("fc1/hard-swish", x, "hard-swish"))
    x = network.put(dropout("dropout", x))
    network.put(linear("fc2", x, n_classes))
    return network.layers


def _inverted_residual(network: Network, name: str, x: Shape, block: _Block) -> Shape:
    y = x
    if block.expanded != x[0]:
        y = network.conv_block(f"{name}/expand", y, block.expanded, kernel=1, function=block.function)
    y = network.depthwise_block(f"{name}/filter", y, kernel=block.kernel, stride=block.stride, function=block.function)
    if block.has_squeeze:
        y = _squeeze_excite(network, f"{name}/squeeze", y)
    y = network.conv_block(f"{name}/project", y, block.channels, kernel=1, function=None)
    return network.put(add(f"{name}/add", y)) if y == x and block.stride == 1 else y


def _squeeze_excite(network: Network, name: str, x: Shape) -> Shape:
    s = network.put(adaptive_pool(f"{name}/pool", x))
    s = network.put(conv(f"{name}/reduce", s, _round_to_8(x[0] / 4), kernel=1, bias=True))
    s = network.put(activation(f"{name}/relu", s))
    s = network.put(conv(f"{name}/restore", s, x[0], kernel=1, bias=True))
    network.put(activation(f"{name}/hard-sigmoid", s, "hard-sigmoid"))
    return network.put(scale(f"{name}/scale", x))


def _round_to_8(channels: float) -> int:
    """Round to a multiple of 8, not more than a tenth down, as the authors' ``_make_divisible``."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded
