"""Numbers computed from one replication of one job."""
