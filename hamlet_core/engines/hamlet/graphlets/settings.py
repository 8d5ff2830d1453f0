"""What the event kernel is told about sharing, and what it writes down: settings, prices, counters, the decision log."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hamlet_core.sharing.burst import Outcome
from hamlet_core.sharing.costs import Constants
from hamlet_core.sharing.options import Sharing
from hamlet_core.sharing.reasons import Reason

DYNAMIC, ALWAYS = 0, 1
MEASURED, PAPER = 0, 1
GUARDED = 0
(S_POLICY, S_MODEL, S_CHOICE, S_LOG, S_PANE, S_ORIGIN, SETTINGS) = range(7)

(N_BURSTS, N_SHARED, N_LANES, N_CARRIED, N_SPLITS, N_MERGES, N_RECORDS, N_CYCLES, COUNTS_KEPT) = range(9)
"""Counters: bursts decided, bursts shared, lanes made, lanes carried by shared bursts, records
of the log, cycles of deciding."""

(R_GROUP, R_EVENT, R_PANE, R_BURST, R_BURSTS, R_EVENTS, R_OUTCOME, R_REASON) = range(8)
(R_CREATED, R_CARRIED, R_LABELS) = range(8, 11)
"""Fields of a record; the labels of the members, a set each or -1, are the last."""

R_SHARED, R_ALONE = range(2)
"""Costs of a record."""

ROOM = 1 << 14
"""Records; behind them one for each group, outcome and reason takes what finds no room."""

OUTCOMES, REASONS = tuple(Outcome), tuple(Reason)
OPEN, CONTINUE, SPLIT, MERGE, APART = (OUTCOMES.index(one) for one in Outcome)


ASKING, ASKING_TO_GO_ON = 1_000.0, 60.0
"""Nanoseconds that a decision takes, about; and one that an open graphlet of a tree or scan goes on."""


LOOKED_AT = 512
"""Events of a window by which it is told how long its bursts are."""


class SharingState(NamedTuple):
    """Mutable: the part of a pass that decides and remembers what was decided."""

    settings: Any
    """int64, the fields `S_...`."""
    prices: Any
    """float64, the constants of the measured cost model in the order of `Constants`."""
    count: Any
    """int64, the counters `N_...`."""
    before: Any
    """The counters before the window in hand."""
    record: Any
    """int64[record, field]"""
    cost: Any
    """float64[record, 2]"""
    gain: Any
    """float64[group]: nanoseconds that sharing has saved, less those that asking and going apart have cost."""


def sharing_state(options: Sharing, groups: int, members: int, pane: int, origin: int) -> SharingState:
    """Before the first decision; without groups nothing is kept."""
    settings = np.zeros(SETTINGS, np.int64)
    settings[S_POLICY] = ALWAYS if options.always else DYNAMIC
    settings[S_MODEL] = PAPER if options.cost_model == "paper" else MEASURED
    settings[S_CHOICE] = 0 if options.choice == "guarded" else 1
    settings[S_LOG], settings[S_PANE], settings[S_ORIGIN] = options.log, pane, origin
    room = ROOM + groups * len(OUTCOMES) * len(REASONS) if groups and options.log else 0
    record, cost = np.empty((room, R_LABELS + members), np.int64), np.empty((room, 2))
    record[ROOM:], cost[ROOM:] = 0, 0.0  # the others are as they are taken
    return SharingState(
        settings,
        prices_of(options.constants),
        np.zeros(COUNTS_KEPT, np.int64),
        np.zeros(COUNTS_KEPT, np.int64),
        record,
        cost,
        np.zeros(groups),
    )


def prices_of(constants: Constants) -> Any:
    """The constants as the kernel reads them, and room for one number more."""
    return np.array([*constants.values(), 0.0], np.float64)
