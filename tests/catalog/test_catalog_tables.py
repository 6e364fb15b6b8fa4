import re

import pytest

from hetsim.catalog import datasets, descriptions, devices, links, profiles
from hetsim.catalog.rows import read_rows
from hetsim.catalog.tables import (
    DATASET_COLUMNS,
    DEVICE_COLUMNS,
    LINK_COLUMNS,
    PROFILE_COLUMNS,
    parse_dataset,
    parse_device,
    parse_link,
    parse_profile,
    unique,
)
from hetsim.errors import CatalogError

WANTED_DEVICES = {
    *("K80", "P100", "V100", "T4", "A100-40", "A100-80", "H100", "RTX2080Ti", "GTX1080", "RTX3090"),
    *("Xeon-E5-2686v4", "Xeon-E5-2630v3-2S", "Xeon-Gold-5118", "EPYC-7742"),
}
WANTED_LINKS = {
    *("PCIe3-x8", "PCIe3-x16", "PCIe4-x16", "NVLink1", "NVLink2", "NVLink3"),
    *("Ethernet-1G", "Ethernet-10G", "Ethernet-25G", "Ethernet-100G", "InfiniBand-56G", "InfiniBand-100G"),
}
MODELS = {
    *("resnet18", "resnet34", "resnet50", "resnet101", "resnet152"),
    *("mobilenet_v1", "mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large"),
    *("alexnet", "vgg16", "inception_v3"),
}
GOOD_DEVICE = "X,gpu,1e12,1e9,1e11,1,1.0,0,a device,its data sheet"
GOOD_LINK = "L,bus,1e9,0.9,1e-6,a link,its standard"
GOOD_DATASET = "d,100,3,32,32,10,a data set,its paper"
GOOD_PROFILE = "resnet50,X,224,0.001,0.002,0.003,0.004,8,64,its table"


def parse(columns, line, parse_row):
    rows = read_rows([",".join(columns), *line.splitlines()], "file.csv", columns)
    return unique(rows, parse_row, lambda thing: getattr(thing, "name", "profile"))


def parse_device_line(line):
    return parse(DEVICE_COLUMNS, line, parse_device)


def parse_link_line(line):
    return parse(LINK_COLUMNS, line, parse_link)


def parse_dataset_line(line):
    return parse(DATASET_COLUMNS, line, parse_dataset)


def parse_profile_line(line):
    return parse(PROFILE_COLUMNS, line, lambda row: parse_profile(row, ["X"]))


def test_the_catalog_holds_what_scenarios_need():
    assert set(devices()) >= WANTED_DEVICES
    assert set(links()) >= WANTED_LINKS
    assert set(datasets()) == {"imagenet", "cifar10", "cifar100", "mnist"}


def test_names_keep_the_order_of_the_file():
    assert list(devices())[:3] == ["K80", "P100", "V100"]
    assert list(descriptions("device")) == list(devices())
    assert list(descriptions("link")) == list(links())
    assert list(descriptions("dataset")) == list(datasets())


def test_tables_are_read_once_and_cannot_be_changed():
    assert devices() is devices()
    with pytest.raises(TypeError):
        devices()["X"] = devices()["V100"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "cores", "clock_hz", "flop_per_cycle"),
    [
        ("K80", 2496, 875e6, 2),
        ("P100", 3584, 1480e6, 2),
        ("V100", 5120, 1530e6, 2),
        ("T4", 2560, 1590e6, 2),
        ("A100-40", 6912, 1410e6, 2),
        ("H100", 16896, 1980e6, 2),
        ("RTX2080Ti", 4352, 1545e6, 2),
        ("RTX3090", 10496, 1695e6, 2),
        ("GTX1080", 2560, 1733e6, 2),
        ("Xeon-E5-2686v4", 18, 2.3e9, 32),
        ("Xeon-Gold-5118", 12, 2.3e9, 32),
        ("EPYC-7742", 64, 2.25e9, 32),
    ],
)
def test_peak_rate_is_cores_times_clock(name, cores, clock_hz, flop_per_cycle):
    assert devices()[name].flop_per_s == pytest.approx(cores * clock_hz * flop_per_cycle, rel=0.006)


def test_two_dies_share_a_k80():
    assert devices()["K80"].dies_per_card == 2
    assert all(spec.dies_per_card == 1 for name, spec in devices().items() if name != "K80")


@pytest.mark.parametrize(
    ("name", "line_rate_bytes_per_s", "payload_frac"),
    [
        ("PCIe3-x16", 8e9 * 16 * 128 / 130 / 8, 12.4 / 15.754),
        ("PCIe4-x16", 16e9 * 16 * 128 / 130 / 8, 25.85 / 31.508),
        ("NVLink1", 4 * 20e9, 73.06 / 80),
        ("NVLink2", 6 * 25e9, 143.71 / 150),
        ("NVLink3", 12 * 25e9, 279.3 / 300),
        ("Ethernet-10G", 10e9 / 8, 1448 / 1538),
        ("InfiniBand-56G", 4 * 14.0625e9 * 64 / 66 / 8, 22919 * 2**20 / 25e9),
        ("InfiniBand-100G", 4 * 25.78125e9 * 64 / 66 / 8, 22919 * 2**20 / 25e9),
    ],
)
def test_link_rate_is_line_rate_times_payload_share(name, line_rate_bytes_per_s, payload_frac):
    assert links()[name].bytes_per_s == pytest.approx(line_rate_bytes_per_s * payload_frac, rel=2e-3)


def test_profiles_are_sane():
    found = profiles()
    assert len(found) >= 60
    assert len({(profile.model, profile.device, profile.input_pixels) for profile in found}) == len(found)
    for profile in found:
        assert profile.model in MODELS
        assert profile.device in devices()
        assert 1 <= profile.min_batch <= profile.max_batch
        assert profile.input_pixels == (299 if profile.model == "inception_v3" else profile.input_pixels)
        assert profile.input_pixels in {32, 224, 299}
        assert (
            0.2 < profile.forward_per_sample_s / (profile.forward_per_sample_s + profile.backward_per_sample_s) < 0.45
        )
        assert re.search(r"\d+ points, worst \d+\.\d% off the fit", profile.source)


def test_no_number_of_the_catalog_lacks_a_source():
    things = [*devices().values(), *links().values(), *datasets().values(), *profiles()]
    assert len(things) >= 90
    assert all(len(thing.source) > 40 for thing in things)


def test_a_new_device_is_one_line():
    assert parse_device_line(GOOD_DEVICE)["X"].memory_bytes_per_s == 1e11


@pytest.mark.parametrize(
    ("parse_line", "line", "message"),
    [
        (parse_device_line, GOOD_DEVICE.replace("its data sheet", " "), "file.csv:2: source is empty"),
        (
            parse_device_line,
            GOOD_DEVICE.replace("1e12", "fast"),
            "file.csv:2: peak_fp32_flop_per_s 'fast' is not a number",
        ),
        (parse_device_line, GOOD_DEVICE.replace("1e12", "-1"), "peak_fp32_flop_per_s '-1' must be more than zero"),
        (parse_device_line, GOOD_DEVICE.replace("1e12", "inf"), "peak_fp32_flop_per_s 'inf' is not finite"),
        (parse_device_line, GOOD_DEVICE.replace("1e12", "nan"), "peak_fp32_flop_per_s 'nan' is not finite"),
        (parse_device_line, GOOD_DEVICE.replace(",1e9,", ",0,"), "memory_bytes '0' must be more than zero"),
        (parse_device_line, GOOD_DEVICE.replace(",gpu,", ",tpu,"), "no kind 'tpu'. Known: gpu, cpu"),
        (parse_device_line, GOOD_DEVICE.replace(",gpu,", ",cpu,"), "n_cores '0' must be more than zero"),
        (parse_device_line, GOOD_DEVICE.replace(",1,1.0,", ",1.5,1.0,"), "dies_per_card 1.5 is not a whole number"),
        (parse_device_line, GOOD_DEVICE.replace(",1,1.0,", ",1,2.0,"), "card_capacity_devices 2.0 must lie between"),
        (parse_device_line, f"{GOOD_DEVICE}\n{GOOD_DEVICE}", "file.csv:3: 'X' is listed twice"),
        (parse_device_line, GOOD_DEVICE + ",more", "file.csv:2: 11 cells instead of 10"),
        (parse_device_line, "X,gpu", "file.csv:2: 2 cells instead of 10"),
        (parse_link_line, GOOD_LINK.replace("0.9", "1.1"), "efficiency_frac 1.1 is above one"),
        (parse_link_line, GOOD_LINK.replace(",bus,", ",wire,"), "no kind 'wire'. Known: bus, peer, socket, network"),
        (parse_dataset_line, GOOD_DATASET.replace("d,100", "d,0"), "n_samples '0' must be more than zero"),
        (parse_profile_line, GOOD_PROFILE.replace("8,64", "64,8"), "min_batch_samples 64 is above max_batch_samples 8"),
        (parse_profile_line, GOOD_PROFILE.replace(",X,", ",Y,"), "no device 'Y'. Known: X"),
    ],
)
def test_a_malformed_row_is_refused_with_its_place(parse_line, line, message):
    with pytest.raises(CatalogError, match=re.escape(message)):
        parse_line(line)


@pytest.mark.parametrize(
    ("parse_line", "line"),
    [
        (parse_device_line, GOOD_DEVICE),
        (parse_link_line, GOOD_LINK),
        (parse_dataset_line, GOOD_DATASET),
        (parse_profile_line, GOOD_PROFILE),
    ],
)
def test_a_good_row_is_taken(parse_line, line):
    assert len(parse_line(line)) == 1


def test_wrong_headers_are_refused():
    with pytest.raises(CatalogError, match=r"file\.csv:1: the columns must be name,kind"):
        list(read_rows(["name,kind,speed"], "file.csv", LINK_COLUMNS))
