"""Hardware, data sets and measured step times as data."""

from hetsim.catalog.tables import datasets, descriptions, devices, links, profiles

__all__ = ["datasets", "descriptions", "devices", "links", "profiles"]
