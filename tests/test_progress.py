from __future__ import annotations

from relprev import progress as module
from relprev.progress import passed, progress


def test_nothing_is_shown_unless_asked_for(capsys):
    with progress("Study", 2, show=False) as advance:
        advance("one")
        passed()
    assert capsys.readouterr() == ("", "")


def test_steps_and_passes_are_counted_on_standard_error(capsys):
    with progress("Study", 2, show=True) as advance:
        advance("one")
        passed()
        passed()
        (line,) = module._lines
        assert line.bar.tasks[0].fields["passes"] == "pass 2"
        advance("two")
        assert line.bar.tasks[0].completed == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "2/2" in shown.err
    assert not module._lines


def test_steps_take_their_share_of_the_bar_and_a_bar_inside_disappears(capsys):
    with progress("Study", 2, show=True, weights=[9.0, 1.0]) as advance:
        advance("long")
        with progress("Folds", 3, show=True) as inner:
            inner("first")
            assert len(module._lines) == 2
        (line,) = module._lines
        assert [task.description for task in line.bar.tasks] == ["Study"]
        advance("short")
        assert line.bar.tasks[0].completed == 9.0


def test_a_failure_leaves_no_line_behind():
    try:
        with progress("Study", 1, show=True):
            raise RuntimeError
    except RuntimeError:
        pass
    assert not module._lines
