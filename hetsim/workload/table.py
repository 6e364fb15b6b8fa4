"""Every network that a scenario can name, and how to build one."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from hetsim.errors import HetsimError
from hetsim.lookup import find
from hetsim.model.workload import Layer, Model
from hetsim.workload.classic import alexnet, lenet5, vgg16
from hetsim.workload.inception import inception_v3
from hetsim.workload.mobilenet import mobilenet_v1, mobilenet_v2, mobilenet_v3_large, mobilenet_v3_small
from hetsim.workload.resnet import resnet18, resnet34, resnet50, resnet101, resnet152

Stem = Literal["auto", "imagenet", "cifar"]

CIFAR_STEM_BELOW_PIXELS: Final = 64
"""Inputs smaller than this get the CIFAR stem, where a network has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """A network and the input it was published with.

    Parameters
    ----------
    builder : callable
        ``(input_shape, n_classes) -> tuple of Layer``, with the keyword ``cifar_stem: bool`` if `has_stems`; the first
        line of its docstring describes it.
    has_stems : bool
        Whether it has a stem for small images beside the one for ImageNet.
    input_shape : tuple of int
        Channels, height, width, where the caller names none.
    n_classes : int
        Outputs, where the caller names none.
    """

    builder: Callable[..., tuple[Layer, ...]]
    has_stems: bool = False
    input_shape: tuple[int, int, int] = (3, 224, 224)
    n_classes: int = 1000

    @property
    def description(self) -> str:
        """One line for people."""
        return (self.builder.__doc__ or "").partition("\n")[0]


MODELS: Final[Mapping[str, ModelEntry]] = {
    "resnet18": ModelEntry(builder=resnet18, has_stems=True),
    "resnet34": ModelEntry(builder=resnet34, has_stems=True),
    "resnet50": ModelEntry(builder=resnet50, has_stems=True),
    "resnet101": ModelEntry(builder=resnet101, has_stems=True),
    "resnet152": ModelEntry(builder=resnet152, has_stems=True),
    "mobilenet_v1": ModelEntry(builder=mobilenet_v1, has_stems=True),
    "mobilenet_v2": ModelEntry(builder=mobilenet_v2, has_stems=True),
    "mobilenet_v3_small": ModelEntry(builder=mobilenet_v3_small, has_stems=True),
    "mobilenet_v3_large": ModelEntry(builder=mobilenet_v3_large, has_stems=True),
    "lenet5": ModelEntry(builder=lenet5, input_shape=(1, 32, 32), n_classes=10),
    "alexnet": ModelEntry(builder=alexnet),
    "vgg16": ModelEntry(builder=vgg16),
    "inception_v3": ModelEntry(builder=inception_v3, input_shape=(3, 299, 299)),
}
"""By canonical name."""


@functools.lru_cache(maxsize=64)
def build_model(
    name: str,
    input_shape: tuple[int, int, int] | None = None,
    n_classes: int | None = None,
    *,
    stem: Stem = "auto",
) -> Model:
    """Build a network layer by layer.

    Parameters
    ----------
    name : str
        A key of `MODELS`.
    input_shape : tuple of int, shape (3,), or None
        Channels, height, width; None for the network's own (3x224x224; Inception-v3 3x299x299; LeNet-5 1x32x32).
    n_classes : int or None
        Outputs; None for the network's own (1000; LeNet-5 10).
    stem : {"auto", "imagenet", "cifar"}
        ResNets and MobileNets have two stems. ``imagenet`` is that of the paper: for a ResNet a 7x7 convolution of
        stride 2 and a max pooling of stride 2, for a MobileNet a 3x3 convolution of stride 2. ``cifar`` is a 3x3
        convolution of stride 1 and no pooling. ``auto`` takes ``cifar`` for inputs below 64 pixels. A network with
        the stem that ``auto`` would not take is another network: its name says so.

    Returns
    -------
    Model
        The network. Its name is `name`, or ``name/cifar-stem`` or ``name/imagenet-stem`` as said above.

    Raises
    ------
    UnknownNameError
        If there is no such network.
    HetsimError
        If the network cannot take the input, or has no such stem.

    Examples
    --------
    >>> model = build_model("resnet50")
    >>> model.n_params, model.macs
    (25557032, 4089184256)
    >>> build_model("resnet18", (3, 32, 32), 10).layers[0].out_shape
    (64, 32, 32)
    >>> build_model("alexnet", (3, 32, 32), 10)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    hetsim.errors.HetsimError: alexnet cannot take ...: layer 'pool5' has a window of 3 pixels, but only 1 + 0 are left
    """
    entry = find(MODELS, name, "model")
    input_shape = entry.input_shape if input_shape is None else input_shape
    n_classes = entry.n_classes if n_classes is None else n_classes
    shape_text = "x".join(map(str, input_shape))
    if len(input_shape) != 3 or min(input_shape) < 1 or n_classes < 1:
        raise HetsimError(f"{name} needs an input of channels x height x width and classes: {shape_text}, {n_classes}")
    cifar_by_size = min(input_shape[1:]) < CIFAR_STEM_BELOW_PIXELS
    options, full_name = _stem_options(name, entry, stem, cifar_by_size=cifar_by_size)
    try:
        layers = entry.builder(input_shape, n_classes, **options)
    except HetsimError as error:
        raise HetsimError(f"{name} cannot take an input of {shape_text}: {error}") from None
    return Model(name=full_name, input_shape=input_shape, n_classes=n_classes, layers=layers)


def _stem_options(name: str, entry: ModelEntry, stem: Stem, *, cifar_by_size: bool) -> tuple[dict[str, bool], str]:
    """Return the builder's keywords and the name of the network."""
    if not entry.has_stems:
        if stem != "auto":
            raise HetsimError(f"{name} has no choice of stem, so it cannot have the {stem} stem")
        return {}, name
    is_cifar = cifar_by_size if stem == "auto" else stem == "cifar"
    return {"cifar_stem": is_cifar}, name if is_cifar == cifar_by_size else f"{name}/{stem}-stem"
