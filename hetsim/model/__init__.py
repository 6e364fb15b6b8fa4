"""The frozen nouns of a simulation: cluster, workload, job, placement, aggregation tree, plan, result."""
