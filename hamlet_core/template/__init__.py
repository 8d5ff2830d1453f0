"""What a workload needs of its events, query by query; later also the merged templates of sharable sets."""
