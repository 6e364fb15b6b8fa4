import json

from known_scenario import KNOWN

from hetsim import load, run


def test_links_say_what_they_hold() -> None:
    source = json.loads(json.dumps(KNOWN))
    source["cluster"]["topology"]["queue"] = "50 ms"
    source["cluster"]["links"] = [{"between": ["a-1", "switch"], "queue": "0 B"}]
    found = [each.input for each in run(load(source, ["jobs[train].aggregation.policy=ring"])).inputs]
    assert [text for text in found if "switch" in text] == []  # both workers are on one host
    source["cluster"]["hosts"][0]["devices"] = [{"type": "V100"}]
    found = [each.input for each in run(load(source, ["jobs[train].aggregation.policy=ring"])).inputs]
    assert [text for text in found if "switch" in text] == [
        "link a-0 to switch: 1.25 GB/s each way, 25 us, holding 62.5 MB",
        "link a-1 to switch: 1.25 GB/s each way, 25 us",
    ]
