"""What a workload needs of its events, query by query; what its queries may share, and their merged templates."""
