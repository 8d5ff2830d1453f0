"""Compilation: the decorators of kernels, where compiled kernels are kept, the cycle counter."""
