"""Find groups of one variable that lie within a group of another, as counties do in states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Nesting = tuple[str, str, str, str]  # variable, its group, other variable, its group around it
Labels = NDArray[np.integer[Any]]
BETWEEN = "\x1f"  # variable and strata, stratum and group; no name contains it


def within(outer: str, inner: str) -> str:
    """One name for a variable within strata, or for a group within a stratum.

    Examples
    --------
    >>> within("age 40 to 64", "White").split(BETWEEN)
    ['age 40 to 64', 'White']
    """
    return f"{outer}{BETWEEN}{inner}"


def nested_groups(
    groups: Mapping[str, Labels], names: Mapping[str, Sequence[str]]
) -> tuple[Nesting, ...]:
    """All pairs of groups, of two variables, where one group lies within the other.

    Parameters
    ----------
    groups : mapping of variable to integer array of shape (visits,)
        Group number of every visit, -1 where the variable leaves the visit out.
    names : mapping of variable to sequence of str
        Names of the groups, in the order of their numbers.

    Returns
    -------
    tuple of (variable, group, other variable, other group)
        The first group lies within the second; two groups of the same visits appear both ways.

    Examples
    --------
    >>> nested_groups({"county": np.array([0, 1, -1, -1]), "state": np.array([0, 0, 0, 1])},
    ...               {"county": ["Kent", "Bath"], "state": ["N", "S"]})
    (('county', 'Kent', 'state', 'N'), ('county', 'Bath', 'state', 'N'))
    """
    found: list[Nesting] = []
    both = {
        (one, two): _crossed(groups[one], groups[two], len(names[one]), len(names[two]))
        for one, two in combinations(groups, 2)
    }
    for one, two in permutations(groups, 2):
        cross = (both[one, two] if (one, two) in both else both[two, one].T)[1:]
        alone = ((cross > 0).sum(axis=1) == 1) & (cross[:, 0] == 0)
        found += [
            (one, str(names[one][g]), two, str(names[two][int(cross[g].argmax()) - 1]))
            for g in np.flatnonzero(alone).tolist()
        ]
    return tuple(found)


def _crossed(one: Labels, two: Labels, n_one: int, n_two: int) -> NDArray[np.int64]:
    """Visits by group of one variable and of another, left out (-1) first in both."""
    place = (one.astype(np.int64) + 1) * (n_two + 1) + two + 1
    return np.bincount(place, minlength=(n_one + 1) * (n_two + 1)).reshape(n_one + 1, n_two + 1)
