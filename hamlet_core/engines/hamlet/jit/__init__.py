"""Compilation: the decorators of kernels, where compiled kernels are kept and in which order they are made; packed tables."""
