"""The four kinds of number that kernels add and multiply, and loops over lanes of them."""
