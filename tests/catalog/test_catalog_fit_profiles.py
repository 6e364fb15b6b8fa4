import csv
import io

import pytest

from hetsim.catalog import links, profiles
from hetsim.catalog.fit_profiles import fit_all, fit_line, main
from hetsim.catalog.measurements import SOURCES, Source
from hetsim.catalog.tables import PROFILE_COLUMNS
from hetsim.errors import CatalogError

COLUMNS = (
    *("source", "model", "dataset", "batch_per_worker", "hardware", "n_workers", "n_nodes", "link"),
    *("sync", "framework", "precision", "metric", "value", "unit", "condition"),
)
ROW = {
    "source": "tf_benchmarks_page#L1",
    "model": "ResNet-50",
    "dataset": "ImageNet",
    "hardware": "P100",
    "n_workers": "1",
    "n_nodes": "1",
    "sync": "replicated(nccl)",
    "precision": "fp32",
    "metric": "throughput",
    "condition": "input=synthetic",
}
TENSORFLOW, MXNET = SOURCES[0], SOURCES[1]


def write_table(folder, table, rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="")
    writer.writeheader()
    writer.writerows({**ROW, **row} for row in rows)
    (folder / f"{table}.csv").write_text(text.getvalue(), encoding="utf-8")


def throughput(batch, a_s, b_s, **cells):
    return {"batch_per_worker": batch, "value": batch / (a_s + b_s * batch), **cells}


def total(profile):
    base_s = profile.forward_base_s + profile.backward_base_s
    return base_s, profile.forward_per_sample_s + profile.backward_per_sample_s


@pytest.mark.parametrize(("a_s", "b_s"), [(0.02, 0.004), (0.0, 0.03), (5.0, 1e-4), (1e-3, 2e-5)])
def test_exact_points_give_back_their_coefficients(a_s, b_s):
    batches = [4, 16, 32, 128]
    found_a_s, found_b_s = fit_line(batches, [a_s + b_s * batch for batch in batches])
    assert found_a_s == pytest.approx(a_s, rel=1e-6, abs=1e-7)
    assert found_b_s == pytest.approx(b_s, rel=1e-6)


def test_an_outlier_hardly_moves_the_fit():
    batches = [8, 16, 32, 48, 64, 96, 128]
    steps_s = [0.02 + 0.004 * batch for batch in batches]
    steps_s[3] *= 3
    a_s, b_s = fit_line(batches, steps_s)
    assert a_s == pytest.approx(0.02, rel=0.05)
    assert b_s == pytest.approx(0.004, rel=0.02)


def test_coefficients_are_never_negative():
    a_s, b_s = fit_line([8, 16, 32], [0.01, 0.03, 0.07])
    assert a_s == pytest.approx(0.0, abs=1e-6)
    assert b_s > 0


@pytest.mark.parametrize("batches", [[32, 32], [56, 64]])
def test_batches_too_near_each_other_give_no_fixed_part(batches):
    a_s, b_s = fit_line(batches, [0.5 * batch for batch in batches])
    assert a_s == 0.0
    assert b_s == pytest.approx(0.5)


def test_a_table_becomes_a_profile(tmp_path):
    write_table(tmp_path, TENSORFLOW.table, [throughput(batch, 0.02, 0.004) for batch in (16, 32, 64)])
    (profile,) = fit_all(tmp_path, [TENSORFLOW])
    assert (profile.model, profile.device, profile.input_pixels) == ("resnet50", "P100", 224)
    assert (profile.min_batch, profile.max_batch) == (16, 64)
    assert total(profile) == pytest.approx((0.02, 0.004), rel=1e-6)
    assert profile.backward_per_sample_s == pytest.approx(2 * profile.forward_per_sample_s)
    assert "tf_benchmarks_page#L1; 3 points, worst 0.0% off the fit" in profile.source


@pytest.mark.parametrize(
    "change",
    [
        {"condition": "input=real"},
        {"precision": "fp16"},
        {"n_workers": "2"},
        {"sync": "distributed_replicated(cross_replica_sync=True)"},
        {"hardware": "abacus"},
        {"model": "ResNet-9000"},
    ],
)
def test_rows_that_are_not_clean_are_left_out(tmp_path, change):
    write_table(tmp_path, TENSORFLOW.table, [throughput(32, 0.02, 0.004), throughput(64, 0.9, 0.9, **change)])
    (profile,) = fit_all(tmp_path, [TENSORFLOW])
    assert (profile.min_batch, profile.max_batch) == (32, 32)


def test_the_first_source_wins_and_none_are_pooled(tmp_path):
    v100 = {"hardware": "V100", "source": "perf.md#L1"}
    slow = Source(
        table="slow",
        citation="slow",
        devices={"V100": "V100"},
        keep=lambda _: True,
        step_s=MXNET.step_s,
        part=MXNET.part,
    )
    write_table(tmp_path, MXNET.table, [throughput(batch, 0.01, 0.002, **v100) for batch in (8, 32)])
    write_table(tmp_path, slow.table, [throughput(batch, 0.09, 0.009, **v100) for batch in (4, 16)])
    (first,) = fit_all(tmp_path, [MXNET, slow])
    (second,) = fit_all(tmp_path, [slow, MXNET])
    assert total(first) == pytest.approx((0.01, 0.002), rel=1e-6)
    assert total(second) == pytest.approx((0.09, 0.009), rel=1e-6)


def test_the_transfer_to_a_server_on_the_cpu_is_taken_off(tmp_path):
    server = {"sync": "parameter_server(local_parameter_device=cpu)"}
    write_table(tmp_path, TENSORFLOW.table, [throughput(batch, 0.05, 0.004, **server) for batch in (32, 64)])
    (profile,) = fit_all(tmp_path, [TENSORFLOW])
    transfer_s = 2 * 4 * 25_557_032 / links()["PCIe3-x16"].bytes_per_s
    assert total(profile) == pytest.approx((0.05 - transfer_s, 0.004), rel=1e-6)


def test_forward_and_backward_timed_apart_stay_apart(tmp_path):
    times = {"forward_time_mean": 0.1, "backward_time_mean": 0.15}
    cells = {"hardware": "GeForce GTX 1080", "condition": "cudnn=5105; 10 passes", "batch_per_worker": 16}
    write_table(
        tmp_path, SOURCES[-1].table, [{**cells, "metric": metric, "value": value} for metric, value in times.items()]
    )
    (profile,) = fit_all(tmp_path, [SOURCES[-1]])
    assert 16 * profile.forward_per_sample_s == pytest.approx(0.1)
    assert 16 * profile.backward_per_sample_s == pytest.approx(0.15)
    assert "timed apart" in profile.source


def test_a_missing_table_is_an_error(tmp_path):
    with pytest.raises(CatalogError, match="no such table"):
        fit_all(tmp_path)


def test_the_script_says_which_table_is_missing(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([str(tmp_path)])
    assert "tf_benchmarks_page.csv: no such table" in capsys.readouterr().err


def test_the_script_writes_the_columns_of_the_catalog(tmp_path):
    for source in SOURCES:
        write_table(tmp_path, source.table, [])
    write_table(tmp_path, TENSORFLOW.table, [throughput(batch, 0.02, 0.004) for batch in (32, 64)])
    out = tmp_path / "profiles.csv"
    main([str(tmp_path), "--out", str(out)])
    header, row = csv.reader(out.read_text(encoding="utf-8").splitlines())
    assert tuple(header) == PROFILE_COLUMNS
    assert row[:3] == ["resnet50", "P100", "224"]
    assert row[7:9] == ["32", "64"]


@pytest.mark.parametrize(
    ("model", "device", "batch", "n_params", "images_per_s"),
    [
        # TensorFlow benchmarks page, benchmarks.md lines 123, 148 (DGX-1) and 202, 222 (Google Compute Engine): one
        # GPU, synthetic input, parameters on the CPU
        ("resnet50", "P100", 64, 25_557_032, 219.0),
        ("resnet50", "P100", 32, 25_557_032, 195.0),
        ("resnet152", "P100", 64, 60_192_808, 91.8),
        ("inception_v3", "P100", 64, 23_817_352, 142.0),
        ("resnet50", "K80", 64, 25_557_032, 51.9),
        ("resnet50", "K80", 32, 25_557_032, 49.5),
        ("inception_v3", "K80", 64, 23_817_352, 30.5),
        # lines 284, 307 (EC2) and 123 (DGX-1): parameters on the GPU, no transfer
        ("resnet50", "K80", 64, 0, 51.5),
        ("resnet50", "K80", 32, 0, 49.0),
        ("vgg16", "P100", 64, 0, 154.0),
    ],
)
def test_profile_and_transfer_give_back_the_published_rate(model, device, batch, n_params, images_per_s):
    (profile,) = [fit for fit in profiles() if (fit.model, fit.device) == (model, device)]
    base_s, per_sample_s = total(profile)
    transfer_s = 2 * 4 * n_params / links()["PCIe3-x16"].bytes_per_s
    assert batch / (base_s + per_sample_s * batch + transfer_s) == pytest.approx(images_per_s, rel=0.02)


@pytest.mark.parametrize(
    ("model", "device", "batch", "images_per_s"),
    [
        # MXNet 1.2 performance page, perf.md line 244
        ("resnet50", "V100", 32, 298.51),
        ("resnet50", "V100", 128, 363.69),
        # Lambda tf_cnn_benchmarks, logs/7502-A100-PCIE-40GB.logs/syn-replicated-fp32-1gpus
        ("resnet50", "A100-40", 224, 953.43),
        # Lambda PyTorch training throughput, pytorch-train-throughput-fp32.csv
        ("resnet50", "H100", 640, 1893.0),
    ],
)
def test_other_profiles_give_back_rows_they_were_fitted_to(model, device, batch, images_per_s):
    (profile,) = [fit for fit in profiles() if (fit.model, fit.device) == (model, device)]
    base_s, per_sample_s = total(profile)
    assert batch / (base_s + per_sample_s * batch) == pytest.approx(images_per_s, rel=0.04)
