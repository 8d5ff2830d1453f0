"""Measuring: the kernels alone, and from their times the constants of the cost model on this machine."""
