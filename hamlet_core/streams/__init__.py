"""Streams: seeded generators; the same description gives the same events, to the bit.

Most are the papers' data sets; the clickstream of a web shop is ours.
"""

from hamlet_core.streams.bursty import Bursty
from hamlet_core.streams.ecommerce import Ecommerce
from hamlet_core.streams.files import BROKEN_KINDS, write_csv, write_stream
from hamlet_core.streams.linear_road import LinearRoad
from hamlet_core.streams.registry import STREAMS, generate_stream
from hamlet_core.streams.ridesharing import generate
from hamlet_core.streams.sessions import Clickstream
from hamlet_core.streams.smart_home import SmartHome
from hamlet_core.streams.stock import Stock
from hamlet_core.streams.taxi import Taxi
from hamlet_core.streams.trips import RideSharing
from hamlet_core.streams.w50 import w50
from hamlet_core.streams.workloads import Mix, generate_workload

__all__ = [
    "BROKEN_KINDS",
    "STREAMS",
    "Bursty",
    "Clickstream",
    "Ecommerce",
    "LinearRoad",
    "Mix",
    "RideSharing",
    "SmartHome",
    "Stock",
    "Taxi",
    "generate",
    "generate_stream",
    "generate_workload",
    "w50",
    "write_csv",
    "write_stream",
]
