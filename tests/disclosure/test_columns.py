from relprev.checks.registry import CHECKS
from relprev.disclosure.columns import Column


def test_columns_called_counts_are_declared_as_counts():
    """A count of people that is declared as anything freer would not be hidden."""
    for check in CHECKS.values():
        for name, kind in check.table.items():
            if name == "n" or name.startswith(("n_", "visits", "patients")):
                assert kind is Column.COUNT, f"{check.kind}: {name} is declared as {kind}"
