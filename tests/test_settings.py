from __future__ import annotations

from relprev.settings import line_of


def test_lines_of_keys_are_found_among_long_values():
    text = 'a = """\nb = 1\n"""\nlist = [\n  "]", # [\n]\n'
    text += '[t]\n"x y".z = 1\n[[u]]\n[[u]]\nk = {l = 1}\n'
    assert line_of(text, ("list",)) == 4
    assert line_of(text, ("t", "x y", "z")) == 8
    assert line_of(text, ("u", 1, "k", "l")) == 11
    assert line_of(text, ("b",)) is None
