"""How kernels are compiled: cached on disk, without reference counts (nothing in a kernel allocates)."""

from __future__ import annotations

from numba import njit

compiled = njit(cache=True, nogil=True, _nrt=False)
compiled_inline = njit(cache=True, nogil=True, _nrt=False, forceinline=True)
