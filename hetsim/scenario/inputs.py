"""The input that a data set gives a model."""

from hetsim.model.workload import Dataset
from hetsim.workload.table import CIFAR_STEM_BELOW_PIXELS, MODELS


def input_shape(model: str, dataset: Dataset, pixels: int | None) -> tuple[int, int, int]:
    """Return the shape of what a model is fed with.

    Photographs have no size of their own: a data set of larger images is scaled to the input that the model was
    published with (224 pixels; 299 for Inception-v3). Small images keep their size.

    Parameters
    ----------
    model : str
        Name of the model.
    dataset : Dataset
        Its images.
    pixels : int or None
        Height and width, where the scenario states them.

    Returns
    -------
    tuple of int, shape (3,)
        Channels, height, width.
    """
    channels, height, width = dataset.input_shape
    if pixels is not None:
        return channels, pixels, pixels
    own = MODELS[model].input_shape
    is_scaled = min(height, width) >= CIFAR_STEM_BELOW_PIXELS and own[0] == channels
    return own if is_scaled else (channels, height, width)
