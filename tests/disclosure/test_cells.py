from relprev.disclosure import Cells, Rule

ALL = ("all",)


def test_what_is_secret_could_be_none():
    """With a cover of at most 50 a sum of 51 left it 1 or more: of none or one, exactly one."""
    cells = Cells()
    for name, n in {"a": 50, "b": 50, "d": 700}.items():
        cells.add((name,), n)
    cells.add(("c",), 1, secret=True)
    cells.add(ALL, 801, rank=(3,))
    cells.sums(ALL, [(name,) for name in "abcd"])
    assert cells.hidden(Rule()) == {("a",), ("b",), ("c",)}


def test_what_is_known_to_be_two_or_more_needs_more_cover():
    """Of 1 to 5 five values are left, of 2 to 5 only four."""
    gone = {}
    for least in (1, 2):
        cells = Cells()
        cells.add(("few",), 4, least=least)
        cells.add(("cover",), 12)
        cells.add(("more",), 300)
        cells.add(ALL, 316, rank=(3,))
        cells.sums(ALL, [("few",), ("cover",), ("more",)])
        gone[least] = cells.hidden(Rule())
    assert gone[1] == {("few",), ("cover",)}
    assert gone[2] == {("few",), ("cover",), ("more",)}


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
