"""The commands of `hamlet`, a file each; what they share: options, reading a workload, reporting a failure."""
