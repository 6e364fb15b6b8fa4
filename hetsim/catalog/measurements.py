"""Which published single-device training measurements become step-time profiles, and how a row is read.

A source reads one tidy CSV with the columns ``source, model, dataset, batch_per_worker, hardware, n_workers, n_nodes,
link, sync, framework, precision, metric, value, unit, condition``. Where several sources measured the same model on the
same device, the first of `SOURCES` is taken; sources are never pooled.

Left out on purpose: mixed precision and XLA; steps that a host or an input pipeline limits (ResNet-50 of Pollux and Sia
runs under NVIDIA Apex mixed precision: adaptdl, benchmark/models/imagenet/main.py); times of batch 12 on an A100, which
kernel launches limit.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hetsim.catalog.tables import links

Cells = Mapping[str, str]

PARAMETERS = {
    "alexnet": 61_100_840,
    "inception_v3": 23_817_352,
    "resnet50": 25_557_032,
    "resnet152": 60_192_808,
    "vgg16": 138_357_544,
}
"""Trainable parameters: Krizhevsky arXiv:1404.5997 (one tower), Szegedy et al. arXiv:1512.00567 (no auxiliary head,
batch norm without scale), He et al. arXiv:1512.03385, Simonyan and Zisserman arXiv:1409.1556; ImageNet heads."""

BYTES_PER_PARAMETER = 4

MODELS = {
    "AlexNet": "alexnet",
    "alexnet": "alexnet",
    "InceptionV3": "inception_v3",
    "ResNet-18": "resnet18",
    "ResNet-18 (CIFAR variant)": "resnet18",
    "resnet-18": "resnet18",
    "resnet18": "resnet18",
    "resnet-34": "resnet34",
    "resnet34": "resnet34",
    "ResNet-50": "resnet50",
    "resnet-50": "resnet50",
    "resnet50": "resnet50",
    "ResNet-50 v1.5": "resnet50",
    "resnet-101": "resnet101",
    "resnet101": "resnet101",
    "ResNet-152": "resnet152",
    "resnet-152": "resnet152",
    "resnet152": "resnet152",
    "VGG16": "vgg16",
    "vgg16": "vgg16",
    "mobilenet_v2": "mobilenet_v2",
}
"""Names of models in the tables, and ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One table, and which of its rows are clean.

    Parameters
    ----------
    table : str
        Name of the CSV without its ending.
    citation : str
        What a reader can look up.
    devices : mapping of str to str
        Hardware in the table, and our device.
    keep : callable
        ``(cells) -> bool``: further conditions on a row of one device.
    step_s : callable
        ``(cells) -> float``: seconds of one step.
    part : callable
        ``(cells) -> str``: whether the row times the whole ``step``, ``forward`` or ``backward``.
    input_pixels : int
        Height and width of the input; Inception-v3 takes 299 where this says 224.
    """

    table: str
    citation: str
    devices: Mapping[str, str]
    keep: Callable[[Cells], bool]
    step_s: Callable[[Cells], float]
    part: Callable[[Cells], str]
    input_pixels: int = 224


def _whole_step(_: Cells) -> str:
    return "step"


def _timed_part(cells: Cells) -> str:
    return cells["metric"].removesuffix("_time_mean")


def _from_throughput(cells: Cells) -> float:
    return float(cells["batch_per_worker"]) / float(cells["value"])


def _from_seconds(cells: Cells) -> float:
    return float(cells["value"])


def _from_milliseconds(cells: Cells) -> float:
    return 1e-3 * float(cells["value"])


def _without_server_transfer(cells: Cells) -> float:
    """Take off one pull and one push of all parameters where a CPU holds them; a profile is about the device alone."""
    step_s = _from_throughput(cells)
    if "local_parameter_device=cpu" not in cells["sync"]:
        return step_s
    n_bytes = BYTES_PER_PARAMETER * PARAMETERS[MODELS[cells["model"]]]
    return step_s - 2 * n_bytes / links()["PCIe3-x16"].bytes_per_s


def _is_fp32_throughput(cells: Cells) -> bool:
    return cells["metric"] == "throughput" and cells["precision"] == "fp32"


def _is_tensorflow_page(cells: Cells) -> bool:
    synthetic = "input=synthetic" in cells["condition"]
    return _is_fp32_throughput(cells) and synthetic and not cells["sync"].startswith("distributed")


def _is_mxnet(cells: Cells) -> bool:
    # AlexNet's throughput falls again above batch 256, which no a + b * batch describes
    is_rising = cells["model"] != "AlexNet" or int(cells["batch_per_worker"]) <= 256
    return _is_fp32_throughput(cells) and "perf.md" in cells["source"] and is_rising


def _is_lambda_tensorflow(cells: Cells) -> bool:
    synthetic = cells["dataset"].startswith("synthetic")
    return _is_fp32_throughput(cells) and synthetic and "XLA" not in cells["condition"]


def _is_lambda_pytorch(cells: Cells) -> bool:
    return cells["metric"] == "throughput" and cells["precision"] == "fp32/tf32" and cells["batch_per_worker"] != ""


def _is_dbsl_cifar(cells: Cells) -> bool:
    plain = cells["precision"] == "fp32" and "XLA" not in cells["framework"]
    return cells["metric"] == "step_time" and plain and "resolution=32;" in cells["condition"]


def _is_step_time(cells: Cells) -> bool:
    return cells["metric"] == "step_time" and cells["precision"] == "fp32"


def _is_pytorch_mean(cells: Cells) -> bool:
    return cells["metric"] == "step_time_mean" and cells["precision"] == "fp32"


def _is_torch7(cells: Cells) -> bool:
    best = "cudnn=none" if cells["hardware"].startswith("CPU") else "cudnn=51"
    return cells["metric"] in ("forward_time_mean", "backward_time_mean") and cells["condition"].startswith(best)


SOURCES: tuple[Source, ...] = (
    Source(
        table="tf_benchmarks_page",
        citation="TensorFlow benchmarks page (tensorflow/docs_src/performance/benchmarks.md, commit edc511f), "
        "synthetic input, fp32; one pull and push of the parameters over PCIe3-x16 taken off where a CPU holds them",
        devices={"P100": "P100", "K80": "K80"},
        keep=_is_tensorflow_page,
        step_s=_without_server_transfer,
        part=_whole_step,
    ),
    Source(
        table="mxnet_docs",
        citation="MXNet 1.2 performance page (docs/static_site/src/pages/api/faq/perf.md, commit b84609d), fp32",
        devices={"V100": "V100"},
        keep=_is_mxnet,
        step_s=_from_throughput,
        part=_whole_step,
    ),
    Source(
        table="lambda_tf_cnn",
        citation="Lambda tf_cnn_benchmarks (lambdal/lambda-tensorflow-benchmark, commit c17619d), synthetic input, "
        "fp32 (TF32 on Ampere), no XLA",
        devices={
            "Tesla V100-SXM3-32GB": "V100-32",
            "GeForce RTX 2080 Ti": "RTX2080Ti",
            "GeForce RTX 3090": "RTX3090",
            "GeForce GTX 1080 Ti": "GTX1080Ti",
            # faster than the fp32 peak allows, so TF32; the SXM4 rows (TensorFlow 2.3) reach 0.6 of it, so fp32
            "A100-PCIE-40GB": "A100-40",
        },
        keep=_is_lambda_tensorflow,
        step_s=_from_throughput,
        part=_whole_step,
    ),
    Source(
        table="lambda_resnet50",
        citation="Lambda PyTorch training throughput (lambdal/deeplearning-benchmark, "
        "pytorch/pytorch-train-throughput-fp32.csv, commit aa5addb), TF32",
        devices={"A100 80GB SXM4": "A100-80", "H100 80GB SXM5": "H100"},
        keep=_is_lambda_pytorch,
        step_s=_from_throughput,
        part=_whole_step,
    ),
    Source(
        table="dbsl_step_times",
        citation="Dual batch size learning (AndyLu8763/dual-batch-size-learning, commit 977507f, "
        "doi:10.1109/COMPSAC54236.2022.00110), TensorFlow 2.13, fp32, CIFAR-100, 3 x 3 stem",
        devices={"GTX 1080": "GTX1080"},
        keep=_is_dbsl_cifar,
        step_s=_from_seconds,
        part=_whole_step,
        input_pixels=32,
    ),
    Source(
        table="sia_pollux_cifar10",
        citation="Pollux and Sia traces (siasosp23/artifacts, commit aaf7a0d; petuum/adaptdl, branch osdi21-artifact), "
        "PyTorch, fp32, CIFAR-10, 3 x 3 stem",
        devices={"T4": "T4"},
        keep=_is_step_time,
        step_s=_from_seconds,
        part=_whole_step,
        input_pixels=32,
    ),
    Source(
        table="ryujaehun_pytorch_gpu",
        citation="ryujaehun/pytorch-gpu-benchmark (commit 3f47a9e), PyTorch, fp32 (A100: TF32), without the optimizer",
        devices={
            "GeForce RTX 2080 Ti": "RTX2080Ti",
            "GeForce GTX 1080 Ti": "GTX1080Ti",
            "A100-SXM4-40GB": "A100-40",
        },
        keep=_is_pytorch_mean,
        step_s=_from_milliseconds,
        part=_whole_step,
    ),
    Source(
        table="jcjohnson_cnn",
        citation="jcjohnson/cnn-benchmarks (commit 83d441f), Torch7, cuDNN 5.1 (CPU: nn), fp32, without the optimizer",
        devices={
            "GeForce GTX 1080": "GTX1080",
            "TITAN X": "TitanX-Pascal",
            "CPU 2x Xeon E5-2630 v3": "Xeon-E5-2630v3-2S",
        },
        keep=_is_torch7,
        step_s=_from_seconds,
        part=_timed_part,
    ),
)
"""In order of preference: the machines of the published TensorFlow scenarios first, then sweeps over the batch, then
synthetic input, then real input, then single small batches, the oldest software last."""
