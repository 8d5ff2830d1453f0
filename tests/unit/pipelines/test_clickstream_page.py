"""The page of the clickstream: its blocks run one after the other in one folder, and plain counting agrees with each answer."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import hamlet_core
from hamlet_core.streams import generate_stream
from tests.conftest import ROOT
from tests.unit.pipelines import test_docs as docs

WEEK = timedelta(days=7)
Answers = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Click:
    time: datetime
    type: str
    row: dict[str, str]

    @property
    def latency(self) -> int:
        return int(self.row["latency_ms"])


@dataclass(frozen=True, slots=True)
class Page:
    """What the blocks show, and the clicks that they are about."""

    shown: list[str]
    answers: Answers
    clicks: list[Click]

    def by(self, *columns: str) -> dict[tuple[str, ...], list[Click]]:
        """The clicks of each user, session or the like, in their order."""
        found: dict[tuple[str, ...], list[Click]] = defaultdict(list)
        for click in self.clicks:
            found[tuple(click.row[column] for column in columns)].append(click)
        return found


def answers(shown: str) -> Answers:
    """Rows of the tables that `hamlet run --wide` shows, by query."""
    found: Answers = {}
    names: list[str] = []
    query = ""
    for line in shown.splitlines():
        if start := re.fullmatch(r"(\w+):", line):
            query = start[1]
            found[query] = []
        elif line.startswith(" window"):
            names = line.split()
        elif line.startswith(" 2026"):
            values = re.split(r"\s{2,}", line.strip())
            found[query].append(dict(zip(names, map(number, values), strict=True)))
    return found


def number(text: str) -> Any:
    plain = text.replace(",", "")
    return float(plain) if re.fullmatch(r"-?[\d.]+", plain) else text


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    folder: Path = tmp_path_factory.mktemp("clickstream")
    shown = [docs.execute(block, folder, 300) for block in docs.marked("run-clickstream")]
    with (folder / "clicks.csv").open(encoding="utf-8") as file:
        clicks = [
            Click(datetime.fromisoformat(row["time"]), row["type"], row) for row in csv.DictReader(file)
        ]
    # All of it is one window, as the page says.
    assert {click.time - datetime.fromisoformat("2026-01-08T00:00Z") < WEEK for click in clicks} == {True}
    found = [answers(one) for one in shown]
    assert sum(map(len, found)) == len({name for one in found for name in one}) == 15
    return Page(shown, {name: rows for one in found for name, rows in one.items()}, clicks)


def reach(clicks: Sequence[Click], steps: Sequence[str]) -> int:
    """How many of the steps these clicks take, one strictly later than the other."""
    for done, step in enumerate(steps):
        place = next((click for click in clicks if click.type == step), None)
        if place is None:
            return done
        clicks = [click for click in clicks if click.time > place.time]
    return len(steps)


def funnel(partitions: Iterable[list[Click]], steps: Sequence[str]) -> list[int]:
    got = [reach(clicks, steps) for clicks in partitions]
    return [sum(one > place for one in got) for place in range(len(steps))]


def next_clicks(clicks: Sequence[Click], after: Click, fits: Callable[[Click], bool]) -> list[Click]:
    """Those that fit at the earliest time after a click at which any does."""
    later = [click for click in clicks if click.time > after.time and fits(click)]
    first = min((click.time for click in later), default=None)
    return [click for click in later if click.time == first]


def directly(clicks: Sequence[Click], after: Click) -> list[Click]:
    return next_clicks(clicks, after, lambda _: True)


def in_a_row(clicks: Sequence[Click], length: int) -> int:
    """Runs of so many failed payments, nothing else in between."""

    def from_(click: Click, left: int) -> int:
        if click.type != "PaymentFailed":
            return 0
        return 1 if left == 1 else sum(from_(one, left - 1) for one in directly(clicks, click))

    return sum(from_(click, length) for click in clicks)


def values(rows: list[dict[str, Any]], *names: str) -> Any:
    """The one row's values, or each group's."""
    found = {next(iter([*row.values()][1:])): tuple(row[name] for name in names) for row in rows}
    return found if len(rows) > 1 else next(iter(found.values()))


def test_every_block_runs_and_there_are_ten_questions(page: Page) -> None:
    text = (ROOT / "docs" / "clickstream.md").read_text(encoding="utf-8")
    unmarked = [b.text for b in docs.blocks() if b.page == "clickstream.md" and b.mark != "run-clickstream"]
    assert unmarked == []
    assert [int(found) for found in re.findall(r"^## (\d+)\. .*\?$", text, re.MULTILINE)] == [*range(1, 11)]
    assert len(re.findall("^Elsewhere: ", text, re.MULTILINE)) == 10
    assert len(page.clicks) == 12_000


def test_how_many_users_got_to_each_step_and_on(page: Page) -> None:
    steps = ("View", "Cart", "Checkout", "Purchase")
    got = funnel(page.by("user").values(), steps)
    assert values(page.answers["funnel"], *(f"REACH({step})" for step in steps)) == tuple(got)
    shares = [float(round(100 * after / before)) for before, after in pairwise(got)]
    (table,) = [shown for shown in page.shown if "to_checkout" in shown]
    assert [float(found) for found in re.findall(r"\d+\.\d+", table)] == shares


def test_how_long_users_take_to_convert(page: Page) -> None:
    took = []
    for clicks in page.by("user").values():
        views = [click for click in clicks if click.type == "View"]
        for view in (click for click in views if click.time == views[0].time):
            took += [
                (bought.time - view.time).total_seconds()
                for bought in next_clicks(clicks, view, lambda click: click.type == "Purchase")
            ]
    found = values(page.answers["convert"], *(f"{name}(DURATION)" for name in ("AVG", "MIN", "MAX")))
    assert found == pytest.approx((sum(took) / len(took), min(took), max(took)))
    assert values(page.answers["convert"], "COUNT(*)") == (len(took),)


def test_how_many_carts_were_abandoned(page: Page) -> None:
    sessions, filled, left = 0, [], []
    for clicks in page.by("session").values():
        bought = [click.time for click in clicks if click.type == "Purchase"]
        carts = [click for click in clicks if click.type == "Cart"]
        lost = [cart for cart in carts if not any(time > cart.time for time in bought)]
        sessions += bool(lost)
        left += lost
        filled += [(lost[-1].time - carts[0].time).total_seconds()] if lost else []
    found = values(page.answers["abandoned"], "COUNT(PARTITIONS)", "MAX(DURATION)")
    assert found == pytest.approx((sessions, max(filled)))
    worth = sum(float(cart.row["amount"]) for cart in left)
    assert values(page.answers["left_behind"], "COUNT(*)", "SUM(c.amount)") == pytest.approx(
        (len(left), worth)
    )


def test_how_often_a_payment_fails_before_it_succeeds(page: Page) -> None:
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for (_, country), clicks in page.by("session", "country").items():

        def ways(click: Click, clicks: list[Click] = clicks) -> int:
            if click.type == "Purchase":
                return 1
            after = next_clicks(clicks, click, lambda one: one.type in ("PaymentFailed", "Purchase"))
            return sum(map(ways, after))

        trends = sum(ways(click) for click in clicks if click.type == "PaymentFailed")
        found[country][0] += trends > 0
        found[country][1] += trends
    asked = {country: tuple(counts) for country, counts in found.items() if counts[1]}
    assert values(page.answers["retried"], "COUNT(PARTITIONS)", "COUNT(*)") == asked
    (why,) = [shown for shown in page.shown if "trend 1" in shown]
    assert f"{asked['BR'][1]} trends" in why
    assert len(re.findall("p: Purchase", why)) == asked["BR"][1]


def test_how_many_payments_fail_directly_after_one_another(page: Page) -> None:
    for name, columns, length in (("two", "user", 2), ("three", "user", 3), ("again", "session", 2)):
        runs = [in_a_row(clicks, length) for clicks in page.by(columns).values()]
        wanted = (sum(run > 0 for run in runs), sum(runs))
        assert values(page.answers[name], "COUNT(PARTITIONS)", "COUNT(*)") == wanted, name


def test_who_leaves_where(page: Page) -> None:
    for name, (one, group), steps in (
        ("devices", ("user", "device"), ("Cart", "Checkout")),
        ("countries", ("session", "country"), ("Checkout", "PaymentFailed")),
    ):
        parted: dict[str, list[list[Click]]] = defaultdict(list)
        for (_, value), clicks in page.by(one, group).items():
            parted[value].append(clicks)
        wanted = {value: tuple(funnel(clicks, steps)) for value, clicks in parted.items()}
        assert values(page.answers[name], *(f"REACH({step})" for step in steps)) == wanted
    rates = {
        country: failed / checkouts
        for country, (checkouts, failed) in values(
            page.answers["countries"], "REACH(Checkout)", "REACH(PaymentFailed)"
        ).items()
    }
    assert sorted(rates, key=rates.__getitem__)[-2:] == ["FR", "BR"]
    gone = {
        device: after / before
        for device, (before, after) in values(
            page.answers["devices"], "REACH(Cart)", "REACH(Checkout)"
        ).items()
    }
    assert min(gone, key=gone.__getitem__) == "Phone"


def test_how_often_users_do_it(page: Page) -> None:
    steps = ("View", "Cart", "Purchase")
    users = times = ways = 0
    for clicks in page.by("user").values():
        chosen = [
            (view, cart, bought)
            for view in clicks if view.type == steps[0]
            for cart in clicks if cart.type == steps[1] and cart.time > view.time
            for bought in clicks if bought.type == steps[2] and bought.time > cart.time
        ]  # fmt: skip
        ways += len(chosen)
        users += bool(chosen)
        end = None
        for view, _, bought in sorted(chosen, key=lambda trend: trend[2].time):
            if end is None or view.time > end:
                times, end = times + 1, bought.time
    found = values(page.answers["repeated"], "COUNT(PARTITIONS)", "COUNT(DISJOINT)", "COUNT(*)")
    assert found == (users, times, ways)


def test_after_which_errors_users_restart_or_leave(page: Page) -> None:
    found: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for (_, device), clicks in page.by("user", "device").items():
        for error in (click for click in clicks if click.type == "Error"):
            for after in directly(clicks, error):
                if after.type in ("Restart", "Logout"):
                    found[device].append((after.type == "Restart", after.type == "Logout", error.latency))
    wanted = {
        device: (len(trends), *(sum(column) for column in [*zip(*trends, strict=True)][:2]))
        for device, trends in found.items()
    }
    assert values(page.answers["gone"], "COUNT(*)", "COUNT(r)", "COUNT(l)") == wanted
    waits = {
        device: (pytest.approx(sum(latency for _, _, latency in trends) / len(trends), abs=1e-4),)
        for device, trends in found.items()
    }
    assert values(page.answers["gone"], "AVG(e.latency_ms)") == waits


def test_whether_retries_get_slower(page: Page) -> None:
    pairs = [
        (session, after.latency)
        for session, clicks in page.by("session").items()
        for click in clicks if click.type == "PaymentFailed"
        for after in directly(clicks, click)
        if after.type == "PaymentFailed" and after.latency > click.latency
    ]  # fmt: skip
    wanted = (len({session for session, _ in pairs}), len(pairs), max(latency for _, latency in pairs))
    assert values(page.answers["slower"], "COUNT(PARTITIONS)", "COUNT(*)", "MAX(b.latency_ms)") == wanted


@pytest.mark.parametrize(("name", "sign"), [("slowing", 1), ("quickening", -1)])
def test_how_many_chains_of_slower_and_slower_failures_there_are(page: Page, name: str, sign: int) -> None:
    wanted = {}
    for (country,), clicks in page.by("country").items():
        failed = [click for click in clicks if click.type == "PaymentFailed"]
        # Per failure: the chains that it ends, and their events.
        ended: list[tuple[int, int]] = []
        for place, click in enumerate(failed):
            before = [
                ended[earlier]
                for earlier in range(place)
                if failed[earlier].time < click.time and sign * (click.latency - failed[earlier].latency) > 0
            ]
            chains = 1 + sum(count for count, _ in before)
            ended.append((chains, chains + sum(events for _, events in before)))
        if failed:
            wanted[country] = tuple(map(sum, zip(*ended, strict=True)))
    assert values(page.answers[name], "COUNT(*)", "COUNT(f)") == wanted
    assert max(wanted.values())[0] > 10_000


def test_every_query_of_the_example_has_rows_and_the_reference_says_the_same() -> None:
    text = (ROOT / "examples" / "clickstream.hamlet").read_text(encoding="utf-8")
    events = generate_stream("clickstream", 4_000, 7, users=200, days=6.9)
    rows = [
        hamlet_core.run(text, events, engine=engine, arithmetic="exact").to_pylist()
        for engine in ("hamlet", "greta")
    ]
    assert {row["query"] for row in rows[0]} == {plan.name for plan in hamlet_core.plan(text)}
    assert len({row["query"] for row in rows[0]}) == 8
    exact = [
        sorted(
            str((row["query"], row["window_start"], row["group_key"], row["aggregate"], row["exact"]))
            for row in one
        )
        for one in rows
    ]
    assert exact[0] == exact[1]
