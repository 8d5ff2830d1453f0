"""The tests' own waiting for a page: clocks on it do not count, words that come and tables that move do."""

from __future__ import annotations

import pytest

from tests.dagster.pages import browsing, settle

pytestmark = pytest.mark.browser

PATIENCE = 4_000
PAGE = """<body><p id=said>loading</p><table><tr><td>0:00</td></tr></table><script>
    let times = 0
    setInterval(() => {{ times += 1; {each} }}, 200)
</script></body>"""
CLOCK = 'document.querySelector("td").innerText = `in 0:${10 + times % 50}`'
WORDS = 'document.querySelector("#said").innerText += " more"'
TABLE = 'document.querySelector("table").style.marginLeft = `${times}px`'


@pytest.mark.parametrize(
    ("each", "still"), [(CLOCK, True), (WORDS, False), (TABLE, False)], ids=["clock", "words", "table"]
)
def test_a_page_with_a_clock_stands_still_and_one_that_is_loading_does_not(
    each: str, still: bool, chromium: str
) -> None:
    with browsing(chromium) as page:
        page.set_content(PAGE.format(each=each))
        if still:
            settle(page, PATIENCE)
        else:
            with pytest.raises(AssertionError, match="does not stand still within 4 s"):
                settle(page, PATIENCE)
