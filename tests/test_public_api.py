"""Every public name is in the reference."""

import re
from pathlib import Path

from tests.docs.public import PUBLIC

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "api.md"


def test_reference_lists_exactly_the_public_names():
    listed = set(re.findall(r"^   ([\w.]+)$", REFERENCE.read_text(), re.MULTILINE))
    assert listed == {name.removeprefix("relprev.") for name in PUBLIC}
