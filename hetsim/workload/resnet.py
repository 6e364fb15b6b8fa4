"""Residual networks: He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition", CVPR 2016, table 1.

The stride of a bottleneck is in its 3x3 convolution ("v1.5", as in torchvision), to which ResNet-50's 4.1 billion
multiply-accumulates belong; the paper has it in the 1x1 convolution before that, which does 6 % less.
Within a block the variables of the shortcut come last.
"""

from hetsim.model.workload import Layer
from hetsim.workload.builder import Network
from hetsim.workload.layers import Shape
from hetsim.workload.weighted import linear
from hetsim.workload.weightless import activation, adaptive_pool, add, pool

_CHANNELS = (64, 128, 256, 512)


def resnet18(input_shape: Shape, n_classes: int, *, cifar_stem: bool) -> tuple[Layer, ...]:
    """ResNet-18: 8 blocks of two 3x3 convolutions, 11.7 M parameters."""
    return _resnet(input_shape, n_classes, (2, 2, 2, 2), is_bottleneck=False, cifar_stem=cifar_stem)


def resnet34(input_shape: Shape, n_classes: int, *, cifar_stem: bool) -> tuple[Layer, ...]:
    """ResNet-34: 16 blocks of two 3x3 convolutions, 21.8 M parameters."""
    return _resnet(input_shape, n_classes, (3, 4, 6, 3), is_bottleneck=False, cifar_stem=cifar_stem)


def resnet50(input_shape: Shape, n_classes: int, *, cifar_stem: bool) -> tuple[Layer, ...]:
    """ResNet-50: 16 bottleneck blocks, 25.6 M parameters."""
    return _resnet(input_shape, n_classes, (3, 4, 6, 3), is_bottleneck=True, cifar_stem=cifar_stem)


def resnet101(input_shape: Shape, n_classes: int, *, cifar_stem: bool) -> tuple[Layer, ...]:
    """ResNet-101: 33 bottleneck blocks, 44.5 M parameters."""
    return _resnet(input_shape, n_classes, (3, 4, 23, 3), is_bottleneck=True, cifar_stem=cifar_stem)


def resnet152(input_shape: Shape, n_classes: int, *, cifar_stem: bool) -> tuple[Layer, ...]:
    """ResNet-152: 50 bottleneck blocks, 60.2 M parameters."""
    return _resnet(input_shape, n_classes, (3, 8, 36, 3), is_bottleneck=True, cifar_stem=cifar_stem)


def _resnet(
    input_shape: Shape, n_classes: int, n_blocks: tuple[int, ...], *, is_bottleneck: bool, cifar_stem: bool
) -> tuple[Layer, ...]:
    network = Network()
    if cifar_stem:
        x = network.conv_block("stem", input_shape, 64, is_first=True)
    else:
        x = network.conv_block("stem", input_shape, 64, kernel=7, stride=2, is_first=True)
        x = network.put(pool("stem/pool", x, kernel=3, stride=2, padding=1))
    block = _bottleneck if is_bottleneck else _basic
    for stage, (channels, n) in enumerate(zip(_CHANNELS, n_blocks, strict=True), 1):
        for index in range(n):
            stride = 2 if index == 0 and stage > 1 else 1
            x = block(network, f"stage{stage}/block{index + 1}", x, channels, stride)
    x = network.put(adaptive_pool("pool", x))
    network.put(linear("fc", x, n_classes))
    return network.layers


def _basic(network: Network, name: str, x: Shape, channels: int, stride: int) -> Shape:
    y = network.conv_block(f"{name}/a", x, channels, stride=stride)
    y = network.conv_block(f"{name}/b", y, channels, function=None)
    return _join(network, name, x, y, stride)


def _bottleneck(network: Network, name: str, x: Shape, channels: int, stride: int) -> Shape:
    y = network.conv_block(f"{name}/a", x, channels, kernel=1)
    y = network.conv_block(f"{name}/b", y, channels, stride=stride)
    y = network.conv_block(f"{name}/c", y, 4 * channels, kernel=1, function=None)
    return _join(network, name, x, y, stride)


def _join(network: Network, name: str, x: Shape, y: Shape, stride: int) -> Shape:
    if x != y:
        network.conv_block(f"{name}/shortcut", x, y[0], kernel=1, stride=stride, function=None)
    y = network.put(add(f"{name}/add", y))
    return network.put(activation(f"{name}/relu", y))
