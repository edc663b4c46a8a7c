"""Control conditions of a study: named sets that are shipped, and the study's own.

A control is a condition that is hardly ever missed in any group; see `relprev.controls`.
"""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from relprev.codes import CodeSet
from relprev.cohort.cohort import MAX_CONTROLS, control_dtype
from relprev.errors import DataWarning, InvalidInputError
from relprev.messages import Message
from relprev.settings import Declared, suggestion

if TYPE_CHECKING:
    from relprev.cohort.spec import CohortSpec


@dataclass(frozen=True)
class Controls(Declared):
    """Which control conditions a study has.

    Parameters
    ----------
    sets : tuple of str
        Shipped sets; see `control_set_names`.
    leave_out : tuple of str
        Conditions of those sets that do not suit the study, for example because they are part of
        what it asks.
    conditions : mapping of name to codes
        The study's own.

    Examples
    --------
    >>> own = Controls(("inpatient",), conditions={"burns": ("ICD10:T20*", "ICD9:940*")})
    >>> own.code_sets()["burns"].patterns[0].text, "hip fracture" in own.code_sets()
    ('T20*', True)
    """

    sets: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    conditions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = self.code_sets()
        if len(found) > MAX_CONTROLS:
            raise InvalidInputError(
                f"at most {MAX_CONTROLS} conditions are possible, got {len(found)}; leave some out"
            )

    def code_sets(self) -> dict[str, CodeSet]:
        """Code sets by the name of their condition; the study's own replace shipped ones."""
        shipped = {
            name: codes
            for one in self.sets
            for name, codes in control_set(one).items()
        }  # fmt: skip
        for name in self.leave_out:
            if name not in shipped:
                raise InvalidInputError(
                    f"leave_out has {name!r}, which is not in the sets "
                    f"{list(self.sets)}; {suggestion(name, list(shipped))}"
                )
        kept = {name: codes for name, codes in shipped.items() if name not in self.leave_out}
        return kept | {name: CodeSet.of(name, codes) for name, codes in self.conditions.items()}


def control_set(name: str) -> dict[str, CodeSet]:
    """A shipped set of control conditions.

    Parameters
    ----------
    name : str
        One of `control_set_names`.

    Returns
    -------
    dict of str to CodeSet
        By the name of the condition; ``source`` says why it is hardly ever missed.

    Examples
    --------
    >>> control_set("emergency")["appendicitis"].matching([("ICD10", "K3580"), ("ICD10", "R104")])
    {('ICD10', 'K3580')}
    """
    if name not in control_set_names():
        raise InvalidInputError(
            f"there is no set of controls {name!r}; {suggestion(name, list(control_set_names()))}"
        )
    content = tomllib.loads((_folder() / f"{name}.toml").read_text(encoding="utf-8"))
    return {
        condition: CodeSet.of(condition, about["codes"], source=about["why"])
        for condition, about in content["conditions"].items()
    }


def control_set_names() -> tuple[str, ...]:
    """Names of the shipped sets.

    Returns
    -------
    tuple of str
        In alphabetical order.

    Examples
    --------
    >>> control_set_names()
    ('emergency', 'inpatient')
    """
    return tuple(sorted(f.name[:-5] for f in _folder().iterdir() if f.name.endswith(".toml")))


def _folder() -> resources.abc.Traversable:
    return resources.files("relprev") / "data" / "controls"


def control_codes(
    spec: CohortSpec, codes: Sequence[tuple[str, str, str]], condition: CodeSet,
    lengths: Mapping[str, int],
) -> tuple[tuple[str, ...], NDArray[np.unsignedinteger[Any]]]:  # fmt: skip
    """Names of the controls that the source has codes of, and the bits of every code, (codes,).

    Parameters
    ----------
    spec : CohortSpec
    codes : sequence of (version, code, role)
        All that the source has.
    condition : CodeSet
        Of the condition of interest, as the source spells codes.
    lengths : mapping of version to characters of a code that the source keeps
    """
    own, found, unused = spec.controls.conditions, {}, []
    for name, of_control in spec.controls.code_sets().items():
        cut = of_control.cut_to(lengths)
        hit = np.array([code[:2] in cut for code in codes], dtype=bool)
        shared = [f"{v}:{c}" for (v, c, _), one in zip(codes, hit, strict=True)
                  if one and (v, c) in condition]  # fmt: skip
        if name in own and (shared or not hit.any()):
            raise InvalidInputError(_unusable(name, sorted(set(shared))))
        if shared or not hit.any():
            unused.append(name)
        else:
            found[name] = hit
    if unused:
        said = Message(
            "control conditions not used, because the data have none of their codes or because "
            "they share codes with the condition: {names}",
            names=unused,
        )
        warnings.warn(DataWarning(said), stacklevel=4)
    return tuple(found), _bits(found.values(), len(codes))


def _unusable(name: str, shared: list[str]) -> str:
    if shared:
        return (
            f"the control {name!r} has codes of the condition ({', '.join(shared[:5])}); a control "
            "is another condition, one that is hardly ever missed: take them out of one of the two"
        )
    return (
        f"the control {name!r} has no codes in the data; check the versions (ICD9, ICD10) and the "
        "spelling of its codes, or take it out of the controls"
    )


def _bits(hits: Iterable[NDArray[np.bool_]], n_codes: int) -> NDArray[np.unsignedinteger[Any]]:
    """Bit k of every code that is one of control k, shape (n_codes,)."""
    listed = list(hits)
    bits = np.zeros(n_codes, dtype=control_dtype(len(listed)))
    for number, hit in enumerate(listed):
        bits |= hit.astype(bits.dtype) << number
    return bits
