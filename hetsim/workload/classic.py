"""Networks without batch normalisation: LeNet-5, AlexNet, VGG16.

AlexNet and VGG16 pool their last feature map to the 6x6 or 7x7 pixels that their first fully connected layer takes, as
torchvision does, so parameters do not depend on the input; at 224 pixels the map has that size and nothing is pooled.
"""

from hetsim.model.workload import Layer
from hetsim.workload.builder import Network
from hetsim.workload.layers import Shape
from hetsim.workload.weighted import conv, linear
from hetsim.workload.weightless import activation, adaptive_pool, dropout, pool

_VGG16_STAGES = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))


def lenet5(input_shape: Shape, n_classes: int) -> tuple[Layer, ...]:
    """LeNet-5: two 5x5 convolutions and three fully connected layers, 62 k parameters at 1x32x32.

    LeCun et al., Proc. IEEE 86(11), 1998, section II.B, in the common simplified form: every map of C3 sees every map
    of S2, subsampling is max pooling without parameters, activations are relu, the output layer is linear. Convolutions
    are not padded, so MNIST's 28 pixels have to be padded to 32 first, as the paper does.
    """
    network = Network()
    x = network.put(conv("conv1", input_shape, 6, kernel=5, padding=0, bias=True, is_first=True))
    x = network.put(activation("conv1/relu", x))
    x = network.put(pool("pool1", x, kernel=2, stride=2))
    x = network.put(conv("conv2", x, 16, kernel=5, padding=0, bias=True))
    x = network.put(activation("conv2/relu", x))
    x = network.put(pool("pool2", x, kernel=2, stride=2))
    for name, features in (("fc1", 120), ("fc2", 84)):
        x = network.put(linear(name, x, features))
        x = network.put(activation(f"{name}/relu", x))
    network.put(linear("fc3", x, n_classes))
    return network.layers


def alexnet(input_shape: Shape, n_classes: int) -> tuple[Layer, ...]:
    """AlexNet: five convolutions and three fully connected layers in one tower, 61 M parameters.

    Krizhevsky, "One weird trick for parallelizing convolutional neural networks", arXiv:1404.5997, as in torchvision.
    """
    network = Network()
    x = network.put(conv("conv1", input_shape, 64, kernel=11, stride=4, padding=2, bias=True, is_first=True))
    x = network.put(activation("conv1/relu", x))
    x = network.put(pool("pool1", x, kernel=3, stride=2))
    x = network.put(conv("conv2", x, 192, kernel=5, bias=True))
    x = network.put(activation("conv2/relu", x))
    x = network.put(pool("pool2", x, kernel=3, stride=2))
    for name, channels in (("conv3", 384), ("conv4", 256), ("conv5", 256)):
        x = network.put(conv(name, x, channels, bias=True))
        x = network.put(activation(f"{name}/relu", x))
    x = network.put(pool("pool5", x, kernel=3, stride=2))
    x = _to_size(network, x, 6)
    x = network.put(dropout("dropout1", x))
    x = network.put(linear("fc1", x, 4096))
    x = network.put(activation("fc1/relu", x))
    x = network.put(dropout("dropout2", x))
    x = network.put(linear("fc2", x, 4096))
    x = network.put(activation("fc2/relu", x))
    network.put(linear("fc3", x, n_classes))
    return network.layers


def vgg16(input_shape: Shape, n_classes: int) -> tuple[Layer, ...]:
    """VGG16: thirteen 3x3 convolutions and three fully connected layers, 138 M parameters.

    Simonyan and Zisserman, ICLR 2015, table 1, configuration D.
    """
    network = Network()
    x = input_shape
    for stage, row in enumerate(_VGG16_STAGES, 1):
        for index, channels in enumerate(row, 1):
            name = f"conv{stage}_{index}"
            x = network.put(conv(name, x, channels, bias=True, is_first=not network.layers))
            x = network.put(activation(f"{name}/relu", x))
        x = network.put(pool(f"pool{stage}", x, kernel=2, stride=2))
    x = _to_size(network, x, 7)
    for index in (1, 2):
        x = network.put(linear(f"fc{index}", x, 4096))
        x = network.put(activation(f"fc{index}/relu", x))
        x = network.put(dropout(f"dropout{index}", x))
    network.put(linear("fc3", x, n_classes))
    return network.layers


def _to_size(network: Network, x: Shape, size: int) -> Shape:
    return x if x[1:] == (size, size) else network.put(adaptive_pool("pool", x, size))
