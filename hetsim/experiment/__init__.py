"""The public API: load, run, compare; replications, statistics, results folders."""
