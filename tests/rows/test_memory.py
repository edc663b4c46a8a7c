from relprev.rows.memory import InMemory


def test_parts_stay_the_objects_they_are():
    first, second = [1, 2], [3]
    backend = InMemory([first, second])
    assert backend.here[0] is first
    assert backend.select([1]).here[0] is second


def test_each_part_gets_its_own_argument_before_the_shared_ones():
    backend = InMemory([10, 20])
    assert backend.map(lambda part, own, shared: (part, own, shared), "s", each=["a", "b"]) == [
        (10, "a", "s"), (20, "b", "s"),
    ]  # fmt: skip
    found, kept = backend.keep(lambda part: (part + 1, part + 2))
    assert found == [11, 21]
    assert list(kept.here) == [12, 22]
