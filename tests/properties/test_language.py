"""Text and tree are two views of one query: nothing is lost on the way there and back."""

from hypothesis import given

from hamlet_core import parse
from hamlet_core.language.writer import write_workload
from tests.properties import strategies
from tests.properties.profiles import quick


@quick(100)
@given(strategies.workload_cases)
def test_writing_and_parsing_is_the_identity(case):
    workload = case.workload
    assert parse(write_workload(workload)) == workload
