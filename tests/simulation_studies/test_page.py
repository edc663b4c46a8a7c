"""The page about the simulations."""

from simulations.page import PAGE, write_page
from simulations.replicates import RESULTS


def test_the_page_is_what_the_results_say(tmp_path):
    write_page(RESULTS, tmp_path / "page.md")
    assert PAGE.read_text() == (tmp_path / "page.md").read_text()
