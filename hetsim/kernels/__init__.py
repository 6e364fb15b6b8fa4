"""Numba functions shared by the executors; imports nothing of hetsim."""
