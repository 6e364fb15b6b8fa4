"""Inception-v3: Szegedy et al., "Rethinking the Inception Architecture", CVPR 2016, as Keras builds it.

No auxiliary head; batch-norm trains beta but no gamma. Layers are in the order in which Keras creates them.
"""

from hetsim.model.workload import Layer
from hetsim.workload.builder import Network
from hetsim.workload.layers import Shape
from hetsim.workload.weighted import linear
from hetsim.workload.weightless import adaptive_pool, concat, pool

_Step = tuple[int, int | tuple[int, int]]
"""(channels, kernel) of one convolution of a branch."""


def inception_v3(input_shape: Shape, n_classes: int) -> tuple[Layer, ...]:
    """Inception-v3: 11 modules of parallel branches, 23.8 M parameters; made for 299 pixels."""
    network = Network()
    x = _stem(network, input_shape)
    for index, pooled in enumerate((32, 64, 64)):
        x = _mixed_35(network, f"mixed{index}", x, pooled)
    x = _reduce_35(network, "mixed3", x)
    for index, inner in enumerate((128, 160, 160, 192), 4):
        x = _mixed_17(network, f"mixed{index}", x, inner)
    x = _reduce_17(network, "mixed8", x)
    for index in (9, 10):
        x = _mixed_8(network, f"mixed{index}", x)
    x = network.put(adaptive_pool("pool", x))
    network.put(linear("fc", x, n_classes))
    return network.layers


def _stem(network: Network, x: Shape) -> Shape:
    x = network.conv_block("conv1", x, 32, stride=2, padding=0, scale=False, is_first=True)
    x = network.conv_block("conv2", x, 32, padding=0, scale=False)
    x = network.conv_block("conv3", x, 64, scale=False)
    x = network.put(pool("pool1", x, kernel=3, stride=2))
    x = network.conv_block("conv4", x, 80, kernel=1, scale=False)
    x = network.conv_block("conv5", x, 192, padding=0, scale=False)
    return network.put(pool("pool2", x, kernel=3, stride=2))


def _chain(network: Network, name: str, x: Shape, *steps: _Step, last_stride: int = 1) -> Shape:
    """Append convolutions one after another; one with a last stride of 2 is not padded there."""
    for index, (channels, kernel) in enumerate(steps, 1):
        is_last = index == len(steps) and last_stride > 1
        x = network.conv_block(
            f"{name}_{index}",
            x,
            channels,
            kernel=kernel,
            stride=last_stride if is_last else 1,
            padding=0 if is_last else None,
            scale=False,
        )
    return x


def _pooled(network: Network, name: str, x: Shape, channels: int) -> Shape:
    y = network.put(pool(f"{name}/average", x, kernel=3, stride=1, padding=1, mode="average"))
    return _chain(network, f"{name}/pooled", y, (channels, 1))


def _mixed_35(network: Network, name: str, x: Shape, pooled: int) -> Shape:
    branches = (
        _chain(network, f"{name}/one", x, (64, 1)),
        _chain(network, f"{name}/five", x, (48, 1), (64, 5)),
        _chain(network, f"{name}/double", x, (64, 1), (96, 3), (96, 3)),
        _pooled(network, name, x, pooled),
    )
    return network.put(concat(f"{name}/join", branches, x))


def _reduce_35(network: Network, name: str, x: Shape) -> Shape:
    branches = (
        _chain(network, f"{name}/three", x, (384, 3), last_stride=2),
        _chain(network, f"{name}/double", x, (64, 1), (96, 3), (96, 3), last_stride=2),
        network.put(pool(f"{name}/max", x, kernel=3, stride=2)),
    )
    return network.put(concat(f"{name}/join", branches, x))


def _mixed_17(network: Network, name: str, x: Shape, inner: int) -> Shape:
    row, column = (1, 7), (7, 1)
    branches = (
        _chain(network, f"{name}/one", x, (192, 1)),
        _chain(network, f"{name}/seven", x, (inner, 1), (inner, row), (192, column)),
        _chain(
            network,
            f"{name}/double",
            x,
            (inner, 1),
            (inner, column),
            (inner, row),
            (inner, column),
            (192, row),
        ),
        _pooled(network, name, x, 192),
    )
    return network.put(concat(f"{name}/join", branches, x))


def _reduce_17(network: Network, name: str, x: Shape) -> Shape:
    branches = (
        _chain(network, f"{name}/three", x, (192, 1), (320, 3), last_stride=2),
        _chain(network, f"{name}/seven", x, (192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3), last_stride=2),
        network.put(pool(f"{name}/max", x, kernel=3, stride=2)),
    )
    return network.put(concat(f"{name}/join", branches, x))


def _mixed_8(network: Network, name: str, x: Shape) -> Shape:
    branches = (
        _chain(network, f"{name}/one", x, (320, 1)),
        _split(network, f"{name}/three", _chain(network, f"{name}/three", x, (384, 1))),
        _split(network, f"{name}/double", _chain(network, f"{name}/double", x, (448, 1), (384, 3))),
        _pooled(network, name, x, 192),
    )
    return network.put(concat(f"{name}/join", branches, x))


def _split(network: Network, name: str, x: Shape) -> Shape:
    row = _chain(network, f"{name}_row", x, (384, (1, 3)))
    column = _chain(network, f"{name}_column", x, (384, (3, 1)))
    return network.put(concat(f"{name}_join", (row, column), x))
