"""Sessions of the clickstream: a description in, sessions and their steps out, as columns in no order of time.

A session is a visit of one user to a web shop: Login, pages (View, Search), Carts with a View between each two, Checkout,
PaymentFailed as often as it fails, Purchase, Logout. Each part but the pages may be missing, and what comes after a part
of the way to the purchase is missing with it. A call for Help may follow a failed payment, an Error anything but a Logout,
and a Restart an Error.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from hamlet_core.errors import StreamError
from hamlet_core.streams.drawing import Codes, Truth, Whole, chance, check, daily_times, skewed

TYPES = (
    "Login", "Search", "View", "Cart", "Checkout", "PaymentFailed", "Purchase", "Help", "Error", "Restart", "Logout"
)  # fmt: skip
LOGIN, SEARCH, VIEW, CART, CHECKOUT, FAILED, PURCHASE, HELP, ERROR, RESTART, LOGOUT = range(len(TYPES))
_PARTS = np.array([LOGIN, VIEW, CART, CHECKOUT, FAILED, PURCHASE, LOGOUT], np.int8)

DEVICES = ("Phone", "Desktop", "Tablet")
CAMPAIGNS = ("Direct", "Ads", "Newsletter", "Social", "Partner")
CHECKOUT_FACTORS = np.array([0.7, 1.3, 1.0])
"""By device: how much likelier than `checkout_rate` a session with a cart goes to the checkout."""
HARD_COUNTRY = 3
HARD_FACTOR = 3.0
"""In the third country, and each as many further on, the first payment fails so many times as often."""

HOURLY_DEMAND = (3, 2, 1, 1, 1, 2, 3, 5, 6, 7, 7, 7, 8, 7, 6, 6, 7, 8, 10, 12, 13, 12, 9, 6)
"""Sessions that start in each hour of a day, relative to one another."""

LOGIN_SHARE, LOGOUT_SHARE, SEARCH_SHARE, HELP_SHARE = 0.4, 0.3, 0.2, 0.2
"""Of sessions, of sessions, of pages before the first Cart, and of failed payments."""

MOST_DAYS = 40_000


@dataclass(frozen=True, slots=True)
class Clickstream:
    """What a clickstream looks like; equal descriptions give equal streams."""

    events: int = 200_000
    seed: int = 7
    start: datetime = datetime(2026, 1, 8, tzinfo=UTC)
    """Whole seconds, a midnight for the hours of the day to be right; naive is UTC. Windows of a week begin on Thursdays."""
    days: float = 7.0
    """Time in which sessions start; the last ones end a little later."""
    users: int = 20_000
    countries: int = 8
    burst_length: float = 5.0
    """Mean number of pages (View, Search) before the first Cart, or before the user leaves (geometric)."""
    cart_rate: float = 0.4
    """Sessions with a Cart."""
    carts: float = 1.6
    """Mean number of Carts of a session that has one (geometric)."""
    checkout_rate: float = 0.5
    """Sessions with a Cart that go on to the Checkout, over devices; a Desktop does more often, a Phone less often."""
    failure_rate: float = 0.2
    """Checkouts whose first payment fails; in every third country three times as many."""
    repeat_rate: float = 0.5
    """Payments after a failed one that fail, too."""
    give_up_rate: float = 0.25
    """Failed payments after which the user tries no more."""
    longest_failure: int = 8
    """No session has more failed payments."""
    error_rate: float = 0.01
    """Events, but for Logout, that an Error follows in its session."""
    restart_rate: float = 0.5
    """Errors that a Restart follows."""
    tie_rate: float = 0.02
    """Events that have the very time of their session's event before."""
    null_rate: float = 0.01
    """View events without an amount."""
    skew: float = 1.0
    """Countries are drawn with weight 1 / rank^skew, users with its fourth root; 0 draws them evenly."""

    def __post_init__(self) -> None:
        check(
            "a clickstream",
            not_negative=(self.events, self.seed, self.skew),
            positive=(self.days, self.users, self.countries),
            rates=(
                *(self.cart_rate, self.checkout_rate, self.failure_rate, self.repeat_rate, self.give_up_rate),
                *(self.error_rate, self.restart_rate, self.tie_rate, self.null_rate),
            ),
            lengths=(self.burst_length, self.carts, self.longest_failure),
        )
        if self.days > MOST_DAYS:
            raise StreamError(f"a clickstream lasts {MOST_DAYS:,} days at most", code="E290")


@dataclass(frozen=True, slots=True)
class Users:
    """What all users have, in all of their sessions: a place in each column per user."""

    country: Codes
    device: Codes


@dataclass(frozen=True, slots=True)
class Sessions:
    """Columns of sessions, in no order of time; a session's events stand in a row, from `first` on."""

    start: Whole
    """Seconds from the start of the stream."""
    user: Codes
    """From 0."""
    campaign: Codes
    first: Whole
    size: Whole


@dataclass(frozen=True, slots=True)
class Steps:
    """Columns of events, session by session."""

    session: Codes
    """Place of the session, from 0."""
    type: npt.NDArray[np.int8]


def draw_users(description: Clickstream) -> Users:
    """Countries and devices of all users."""
    random = np.random.default_rng([description.seed, 1, 1])
    return Users(
        skewed(description.countries, description.skew, description.users, random),
        skewed(len(DEVICES), 0.5, description.users, random),
    )


def draw_sessions(
    description: Clickstream, users: Users, share: tuple[int, int], random: np.random.Generator
) -> tuple[Sessions, Steps]:
    """As many sessions as the wanted number of events needs, the last one cut off.

    `share` is the place of their time among how many equal parts of the stream's.
    """
    user, parts = _parts(description, users, random)
    type_, size = _types(description, parts, random)
    ends = np.minimum(np.cumsum(size), description.events)
    used = int(np.searchsorted(ends, description.events)) + 1 if description.events else 0
    size = np.diff(ends[:used], prepend=0)
    hour = (random.random(used) + share[0]) / share[1]
    sessions = Sessions(
        start=daily_times(HOURLY_DEMAND, description.days * 24, hour, random.random(used)),
        user=user[:used],
        campaign=skewed(len(CAMPAIGNS), 0.8, used, random),
        first=ends[:used] - size,
        size=size,
    )
    return sessions, Steps(np.repeat(np.arange(used, dtype=np.int32), size), type_[: description.events])


def _parts(description: Clickstream, users: Users, random: np.random.Generator) -> tuple[Codes, Codes]:
    """Users of sessions, and how many events their sessions have of each of the parts, a row per session.

    The sessions have as many events as are wanted, or more.
    """
    drawn_users = np.empty(0, np.int32)
    drawn = np.empty((0, len(_PARTS)), np.int32)
    while (missing := description.events - int(drawn.sum())) > 0:
        count = int(missing / (description.burst_length + 1)) + 8
        user = skewed(description.users, description.skew / 4, count, random)
        drawn_users = np.concatenate([drawn_users, user])
        drawn = np.concatenate([drawn, _draw_parts(description, users, user, random)])
    return drawn_users, drawn


def _draw_parts(
    description: Clickstream, users: Users, user: Codes, random: np.random.Generator
) -> npt.NDArray[np.int32]:
    count = len(user)
    cart = chance(description.cart_rate, count, random)
    checkout = cart & (
        random.random(count) < description.checkout_rate * CHECKOUT_FACTORS[users.device[user]]
    )
    failing, bought = _payments(description, checkout, users.country[user], random)
    # No session needs more events than the stream has.
    pages, carts = (
        np.minimum(random.geometric(1 / mean, count), description.events)
        for mean in (description.burst_length, description.carts)
    )
    parts = np.empty((count, len(_PARTS)), np.int32)
    parts[:, 0] = chance(LOGIN_SHARE, count, random)
    parts[:, 1] = pages
    # A View stands between each two Carts.
    parts[:, 2] = cart * (2 * carts - 1)
    parts[:, 3] = checkout
    parts[:, 4] = failing
    parts[:, 5] = bought
    parts[:, 6] = chance(LOGOUT_SHARE, count, random)
    return parts


def _payments(
    description: Clickstream, checkout: Truth, country: Codes, random: np.random.Generator
) -> tuple[Whole, Truth]:
    """How many payments of each session fail, and whether one succeeds at last."""
    count = len(checkout)
    hard = np.where(country % HARD_COUNTRY == HARD_COUNTRY - 1, HARD_FACTOR, 1.0)
    fails = checkout & (random.random(count) < description.failure_rate * hard)
    more = (1 - description.give_up_rate) * description.repeat_rate
    drawn = np.minimum(random.geometric(max(1 - more, 1e-9), count), description.longest_failure)
    failing = np.where(fails, drawn, 0)
    # Of those whom no further failure awaits some give up, and the others succeed.
    given_up = description.give_up_rate / max(1 - more, 1e-9)
    return failing, checkout & (~fails | (random.random(count) >= given_up))


def _types(
    description: Clickstream, parts: Codes, random: np.random.Generator
) -> tuple[npt.NDArray[np.int8], Whole]:
    """Types of all events, and how many each session has, with Help, Error and Restart put in after others."""
    plain = np.repeat(np.tile(_PARTS, len(parts)), parts.ravel())
    count = len(plain)
    sizes = parts.sum(axis=1)
    first = np.cumsum(sizes) - sizes
    # The Carts of a session are every second event of theirs.
    begin = first + parts[:, 0] + parts[:, 1]
    offset = np.arange(count) - np.repeat(begin, sizes)
    between = (plain == CART) & (offset % 2 == 1)
    plain[(plain == VIEW) & chance(SEARCH_SHARE, count, random)] = SEARCH
    plain[between] = VIEW
    helped = (plain == FAILED) & chance(HELP_SHARE, count, random)
    broken = ~helped & (plain != LOGOUT) & chance(description.error_rate, count, random)
    restarted = broken & chance(description.restart_rate, count, random)
    widths = 1 + helped.astype(np.int8) + broken + restarted
    places = np.cumsum(widths, dtype=np.int64) - widths
    types = np.repeat(plain, widths)
    types[places[helped] + 1] = HELP
    types[places[broken] + 1] = ERROR
    types[places[restarted] + 2] = RESTART
    return types, np.add.reduceat(widths, first, dtype=np.int64) if count else sizes
