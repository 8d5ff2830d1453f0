"""Streams: seeded generators of the papers' data sets; the same description gives the same events, to the bit."""

from hamlet_core.streams.files import BROKEN_KINDS, write_csv, write_stream
from hamlet_core.streams.registry import STREAMS, generate_stream
from hamlet_core.streams.ridesharing import RideSharing, generate

__all__ = [
    "BROKEN_KINDS",
    "STREAMS",
    "RideSharing",
    "generate",
    "generate_stream",
    "write_csv",
    "write_stream",
]
