"""Aggregation policies, one file each."""
