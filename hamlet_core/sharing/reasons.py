"""Why a decision was taken: the words of the decision log."""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """The value is what the decision log says."""

    NEVER = "policy never"
    ALWAYS = "policy always"
    ONE = "no two queries"
    NOTHING_GAINED = "sharing gains nothing"
    GOES_ON = "the open graphlet goes on"
    PRUNED = "noisy queries stay where they cost no more"
    EVERYBODY = "everybody is cheapest"
    CLASSES = "each class of equal signatures that gains"
    PAPER = "quiet queries, and noisy ones that cost no more with them"
    NO_ROOM = "more snapshots than there is room for"
