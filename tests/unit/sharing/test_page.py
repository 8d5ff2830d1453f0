"""The page on sharing names every option, outcome, reason, column, counter and constant."""

from dataclasses import fields

import pytest

from hamlet_core.results.counters import Counters
from hamlet_core.results.rows import DECISION_SCHEMA
from hamlet_core.sharing.burst import Outcome
from hamlet_core.sharing.costs import Constants
from hamlet_core.sharing.options import CHOICES, COST_MODELS, POLICIES
from hamlet_core.sharing.reasons import Reason
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "sharing.md").read_text("utf-8")
NAMED = {
    "options": (*POLICIES, *COST_MODELS, *CHOICES),
    "outcomes": tuple(one.value for one in Outcome),
    "reasons": tuple(one.value for one in Reason),
    "columns": tuple(DECISION_SCHEMA.names),
    "counters": tuple(
        one.name
        for one in fields(Counters)
        if one.name not in {"events", "matched_events", "result_rows", "kernel_events", "bursts"}
    ),
}


@pytest.mark.parametrize("what", NAMED)
def test_the_page_names_all(what):
    assert [name for name in NAMED[what] if f"`{name}`" not in PAGE] == []


def test_the_page_says_what_each_constant_means():
    for one in fields(Constants):
        means = one.metadata["means"].removesuffix(", in all")
        assert f"| `{one.name}` | {means}" in PAGE
