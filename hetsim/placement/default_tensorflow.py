"""Default TensorFlow: the cluster spec's order, blind to load and capability."""

from hetsim.contracts import PlacementView
from hetsim.model.placement import Placement
from hetsim.placement.choose import Servers, first_workers, free_slots, server_hosts


def default_tensorflow(view: PlacementView, *, servers: Servers = "colocated") -> Placement:
    """Take the cluster spec in its order, blind to load and capability: TensorFlow's default.

    TensorFlow takes the cluster spec as it is given: tasks are numbered in its order, and nothing looks at how busy or
    how capable a machine is (``tf.train.ClusterSpec``; ``tensorflow/python/training/device_setter.py``).

    Parameters
    ----------
    view : PlacementView
        What may be seen; only names, order and which devices are taken are used.
    servers : {"colocated", "separate"}
        Parameter servers on the first hosts, or on the first hosts that hold no worker of the job.

    Returns
    -------
    Placement
        The first free devices, and the first hosts.
    """
    workers = first_workers("default-tensorflow", view, free_slots(view))
    return Placement(
        tuple(slot.device for slot in workers), server_hosts("default-tensorflow", view, workers, servers, view.hosts)
    )
