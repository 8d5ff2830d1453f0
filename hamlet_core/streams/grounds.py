"""What the queries of a generated workload can speak of, stream by stream: types, attributes and their ranges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from hamlet_core.streams import ecommerce, linear_road, smart_home, stock, taxi

FREQUENT = 10
"""Most types of a stream that queries put under a Kleene plus: the frequent ones."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Types and attributes of a stream, as queries use them."""

    kleene: tuple[str, ...]
    prefixes: tuple[str, ...]
    suffixes: tuple[str, ...]
    bounded: str
    """An attribute that is uniform from `least` to below `bound`, in conditions of known selectivity."""
    least: int
    bound: int
    measured: str
    """The attribute that aggregates take."""
    group: str
    compared: str
    """The attribute that conditions on two events in succession compare."""
    equivalence: tuple[str, ...] = ()


def _stock(types: int) -> Ground:
    frequent, others = _parted(stock.companies(types))
    return Ground(frequent, others, others, "vol", 0, 200, "close", "open_level", "close")


def _smart_home(types: int) -> Ground:
    names = tuple(smart_home.reading_names(types))
    return Ground(names[:2], names, names, "value", 0, 100, "value", "house", "value")


def _taxi(types: int) -> Ground:
    frequent, others = _parted(taxi.zones(types))
    return Ground(frequent, others, others, "minutes", 1, 101, "fare", "vendor", "distance")


def _linear_road(types: int) -> Ground:
    names = tuple(linear_road.request_names(types))
    return Ground(names[:2], names, names, "speed", 0, 100, "speed", "xway", "speed")


def _ecommerce(types: int) -> Ground:
    frequent, others = _parted(ecommerce.item_names(types))
    return Ground(frequent, others, others, "discount", 0, 100, "price", "customer", "price")


def _bursty(types: int) -> Ground:
    prefixes, suffixes = (tuple(f"{side}{number}" for number in range(types)) for side in "PS")
    return Ground(("B",), prefixes, suffixes, "v", 0, 100, "v", "key", "x")


def _ridesharing(types: int) -> Ground:
    del types
    return Ground(
        kleene=("Travel",),
        prefixes=("Request", "Pickup"),
        suffixes=("Pool", "Dropoff"),
        bounded="duration",
        least=10,
        bound=45,
        measured="price",
        group="district",
        compared="speed",
        equivalence=("driver", "rider"),
    )


def _clickstream(types: int) -> Ground:
    del types
    return Ground(
        kleene=("View", "Cart", "PaymentFailed"),
        prefixes=("Login", "Search", "View"),
        suffixes=("Checkout", "Purchase", "Logout"),
        bounded="amount",
        least=5,
        bound=205,
        measured="amount",
        group="country",
        compared="latency_ms",
        equivalence=("user",),
    )


GROUNDS: Mapping[str, Callable[[int], Ground]] = MappingProxyType(
    {
        "bursty": _bursty,
        "clickstream": _clickstream,
        "ecommerce": _ecommerce,
        "linear_road": _linear_road,
        "ridesharing": _ridesharing,
        "smart_home": _smart_home,
        "stock": _stock,
        "taxi": _taxi,
    }
)
"""From a stream's name to a function of its number of types."""


def _parted(names: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Frequent types, which stand first, and the others; of few types half are frequent."""
    border = min(FREQUENT, max(len(names) // 2, 1))
    return tuple(names[:border]), tuple(names[border:])
