"""The SimPy executor."""
