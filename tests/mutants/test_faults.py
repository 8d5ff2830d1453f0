"""Every fault still has its place in the source; whether the suite sees it takes minutes: `make mutants`."""

import shutil

import pytest

from tests.mutants.__main__ import ROOT, plant
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
