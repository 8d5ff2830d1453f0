"""The compiled engine: kernels over plain arrays; numba is imported with the first of them."""
