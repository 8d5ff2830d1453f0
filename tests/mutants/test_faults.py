"""Every fault still has its place in the source; whether the suite sees it takes minutes: `make mutants`."""

import shutil

import pytest

from tests.mutants.__main__ import FIRST, ROOT, SUITE, plant, suite_for
from tests.mutants.faults import FAULTS


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault_can_be_planted(fault, tmp_path):
    place = tmp_path / "hamlet_core" / fault.file
    place.parent.mkdir(parents=True)
    shutil.copy(ROOT / "hamlet_core" / fault.file, place)
    assert plant(fault, tmp_path)
    compile(place.read_text("utf-8"), fault.file, "exec")


def test_faults_have_names_of_their_own():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_whole_suite_is_asked_of_each_fault(fault):
    assert sorted(suite_for(fault)) == sorted(SUITE)


def test_who_goes_first_is_in_the_suite_and_has_a_fault_to_see():
    for place, test in FIRST.items():
        seen = [fault for fault in FAULTS if fault.file.startswith(place)]
        assert seen
        assert all(suite_for(fault)[0].endswith(f"/{test}") for fault in seen)
