import csv
from pathlib import Path

import pytest

from hetsim.errors import HetsimError, UnknownNameError
from hetsim.workload.table import MODELS, build_model

RECORDED = Path(__file__).parents[1] / "data" / "torch_layers.csv"
KINDS = {
    "Conv2d": ("conv", "depthwise-conv"),
    "BatchNorm2d": ("batch-norm",),
    "ReLU": ("activation",),
    "ReLU6": ("activation",),
    "MaxPool2d": ("pool",),
    "Linear": ("linear",),
}


@pytest.mark.parametrize(
    ("name", "n_params"),
    [
        ("resnet18", 11_689_512),
        ("resnet34", 21_797_672),
        ("resnet50", 25_557_032),
        ("resnet101", 44_549_160),
        ("resnet152", 60_192_808),
        ("mobilenet_v1", 4_231_976),
        ("mobilenet_v2", 3_504_872),
        ("mobilenet_v3_small", 2_542_856),
        ("mobilenet_v3_large", 5_483_032),
        ("lenet5", 61_706),
        ("alexnet", 61_100_840),
        ("vgg16", 138_357_544),
        ("inception_v3", 23_817_352),
    ],
)
def test_published_parameter_counts(name, n_params):
    model = build_model(name)
    assert model.n_params == n_params
    assert model.gradient_bytes == 4 * n_params
    assert len({layer.name for layer in model.layers}) == len(model.layers)
    assert len({variable.name for variable in model.variables}) == len(model.variables)


def test_every_model_of_the_table_is_counted_and_described():
    assert len(MODELS) == 13
    for name, entry in MODELS.items():
        assert entry.description.endswith("."), name


@pytest.mark.parametrize(
    ("name", "macs"),
    [
        ("resnet18", 1_814_073_344),
        ("resnet50", 4_089_184_256),
        ("mobilenet_v1", 568_740_352),
        ("mobilenet_v2", 300_774_272),
        ("alexnet", 714_188_480),
    ],
)
def test_multiply_accumulates_at_224_pixels(name, macs):
    assert build_model(name).macs == macs


def _recorded():
    with RECORDED.open(newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def _comparable(model):
    """Skip what the recording had no hook for: global pooling, dropout, additions and the activation after one."""
    previous = None
    for layer in model.layers:
        is_after_add = layer.kind == "activation" and previous is not None and previous.kind == "add"
        is_global_pool = layer.kind == "pool" and layer.out_shape[1:] == (1, 1)
        if not (is_after_add or is_global_pool or layer.kind in {"add", "dropout"}):
            yield layer
        previous = layer


@pytest.mark.parametrize("pixels", [224, 32])
@pytest.mark.parametrize("name", ["resnet18", "resnet50", "mobilenet_v1", "mobilenet_v2"])
def test_every_layer_equals_the_recorded_one(name, pixels):
    rows = [row for row in _recorded() if (row["model"], row["input"]) == (name, str(pixels))]
    layers = list(_comparable(build_model(name, (3, pixels, pixels), stem="imagenet")))
    assert len(rows) > 50
    assert len(layers) == len(rows)
    for layer, row in zip(layers, rows, strict=True):
        assert layer.kind in KINDS[row["type"]], layer.name
        assert layer.n_params == int(row["params"]), layer.name
        assert layer.gradient_bytes == int(row["grad_bytes"]), layer.name
        assert "x".join(map(str, layer.out_shape)) == row["out_shape"], layer.name
        assert layer.macs == int(row["macs_per_sample"]), layer.name


def test_a_small_input_gets_the_cifar_stem():
    small = build_model("resnet18", (3, 32, 32), 10)
    assert (small.name, small.layers[0].out_shape) == ("resnet18", (64, 32, 32))
    assert not [layer for layer in small.layers if layer.name == "stem/pool"]
    assert small.macs == 555_422_720  # kuangliu/pytorch-cifar ResNet-18: 0.56 G
    assert build_model("mobilenet_v2", (3, 32, 32)).layers[0].out_shape == (32, 32, 32)


@pytest.mark.parametrize(
    ("pixels", "stem", "name"),
    [
        (32, "auto", "resnet18"),
        (32, "cifar", "resnet18"),
        (32, "imagenet", "resnet18/imagenet-stem"),
        (64, "auto", "resnet18"),
        (224, "imagenet", "resnet18"),
        (224, "cifar", "resnet18/cifar-stem"),
    ],
)
def test_the_name_says_which_stem_where_it_is_unusual(pixels, stem, name):
    assert build_model("resnet18", (3, pixels, pixels), stem=stem).name == name


def test_fully_connected_networks_keep_their_parameters_on_other_inputs():
    assert build_model("vgg16", (3, 32, 32)).n_params == 138_357_544
    assert build_model("alexnet", (3, 299, 299)).n_params == 61_100_840
    assert build_model("resnet50", n_classes=10).n_params == 25_557_032 - 990 * 2049


def test_depthwise_convolutions_are_marked():
    kinds = [layer.kind for layer in build_model("mobilenet_v1").layers]
    assert kinds.count("depthwise-conv") == 13
    assert kinds.count("conv") == 14


@pytest.mark.parametrize(
    ("arguments", "stem", "message"),
    [
        (("alexnet", (3, 32, 32)), "auto", "alexnet cannot take an input of 3x32x32: layer 'pool5' has a window of 3"),
        (("vgg16", (3, 16, 16)), "auto", "vgg16 cannot take an input of 3x16x16: layer 'pool5' has a window of 2"),
        (("inception_v3", (3, 32, 32)), "auto", "inception_v3 cannot take an input of 3x32x32"),
        (("lenet5", (1, 8, 8)), "auto", "lenet5 cannot take an input of 1x8x8: layer 'conv2' has a window of 5"),
        (("vgg16",), "cifar", "vgg16 has no choice of stem"),
        (("resnet18", (3, 0, 32)), "auto", "resnet18 needs an input of channels x height x width and classes: 3x0x32"),
        (("resnet18", None, 0), "auto", "resnet18 needs an input"),
    ],
)
def test_what_a_network_cannot_take(arguments, stem, message):
    with pytest.raises(HetsimError, match=message):
        build_model(*arguments, stem=stem)


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match="no model 'resnet-50'; did you mean 'resnet50'"):
        build_model("resnet-50")


def test_activations_of_resnet50_are_plausible():
    assert 80e6 < build_model("resnet50").saved_bytes < 110e6
