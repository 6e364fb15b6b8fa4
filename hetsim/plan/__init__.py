"""Lowering of placement, aggregation tree and workload to a plan, and its checks."""
