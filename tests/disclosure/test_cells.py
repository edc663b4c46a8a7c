from relprev.disclosure import Cells, Rule


def test_few_undiagnosed_are_people_too():
    """60 visits of which 57 are diagnosed: 3 are not."""
    cells = Cells()
    cells.add(("n",), 60)
    cells.add(("d",), 57)
    cells.rest(("n",), [("d",)], ("undiagnosed",))
    assert cells.hidden(Rule()) == {("d",)}


def test_count_entered_twice_keeps_the_fewest_people():
    cells = Cells()
    cells.add(("a",), 70, people=60)
    cells.add(("a",), 70, people=3)
    assert cells.hidden(Rule()) == {("a",)}
