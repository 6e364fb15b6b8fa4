"""The scenario that ``hetsim init`` writes."""

from typing import Final

_STARTER: Final = """\
# A scenario of hetsim: where should a training job's workers and parameter server go?
# Run it with `hetsim run FILE`, compare its policies with `hetsim compare FILE`.
# `hetsim list` shows every device, link, model, data set and policy that a scenario can name.
# Quantities have units (10 Gbit/s, 64 GiB, 25 us); bits and bytes, MB and MiB are apart.
name: my-scenario
seed: 1                    # key of all random draws: the same seed gives the same result
replications: 10           # how often everything is drawn anew

cluster:
  hosts:
    - name: old            # two equal hosts: old-0, old-1
      count: 2
      devices: [{type: K80, count: 2}]
      cpu: {type: Xeon-E5-2686v4, cores: 8}
      memory: 61 GiB
      nic: 10 Gbit/s
      background:          # what others take: a share, or a schedule of shares
        gpu: 0.3
        cpu: [{at: 0 s, share: 0.1}, {at: 10 s, share: 0.5}]
    - name: new            # two more: new-0, new-1
      count: 2
      devices: [{type: V100, count: 2}]
      cpu: {type: Xeon-E5-2686v4, cores: 16}
      memory: 122 GiB
      nic: 10 Gbit/s
  topology: {kind: star, latency: 25 us}   # kinds: hetsim list topologies; latency is one way
  # links:                                 # exceptions, by end points
  #   - {between: [old-0, switch], rate: 1 Gbit/s}

jobs:
  - name: train
    model: resnet50        # or, instead of a model:
    dataset: imagenet      #   compute: [60 ms, 60 ms, 120 ms, 120 ms]
    batch: 32              #   gradient: 102 MB
    workers: 4
    servers: 1
    steps: 50              # of each worker; or epochs: 1
    jitter: {cv: 0.05}     # coefficient of variation of the compute times
    placement: {policy: default-tensorflow}
    aggregation: {policy: parameter-server, sync: bsp}

compare:                   # each axis is a field path and the values to try
  jobs[train].placement.policy: [default-tensorflow, infrastructure-aware]
"""


def starter() -> str:
    """Return a commented scenario to start from.

    Returns
    -------
    str
        YAML that loads and runs.
    """
    return _STARTER
