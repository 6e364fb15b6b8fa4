"""Metrics: numbers computed from what a run recorded; a metric is a file and its line in `hetsim.metrics.table`."""
