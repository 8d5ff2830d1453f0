"""Events as the kernels read them: classes of queries, partitions in order of time, windows as slices."""
