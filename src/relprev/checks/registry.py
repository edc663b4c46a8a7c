"""All checks, by kind, in the order in which a study makes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from relprev import checks
from relprev.checks.check import CheckResult
from relprev.checks.inputs import CheckInputs, sample_patients


@dataclass(frozen=True, kw_only=True)
class Check:
    """What a study needs to know of a kind of check."""

    kind: str
    run: Callable[[CheckInputs], list[CheckResult]]
    needs: tuple[str, ...] = ()
    refits: bool = False
    seconds: float = 10.0

    def results(self, inputs: CheckInputs) -> list[CheckResult]:
        """Make the check, on a sample where it fits models again and there are many visits."""
        if not self.refits:
            return self.run(inputs)
        sample = sample_patients(inputs.cohort, inputs.max_visits, inputs.seed)
        found = self.run(replace(inputs, cohort=sample))
        if sample.n == inputs.cohort.n:
            return found
        note = f" Made on {sample.n:,} of the {inputs.cohort.n:,} visits, drawn at random."
        return [replace(one, effect=one.effect + note) for one in found]


def _sensitivity(inputs: CheckInputs) -> list[CheckResult]:
    moments = inputs.debiased.moments_
    names = [name for name in moments.names if name in moments.estimated]
    base = inputs.reference if inputs.reference in names else next(iter(names), "")
    return [checks.check_sensitivity(inputs.debiased, name, base, level=inputs.level)
            for name in names if name != base]  # fmt: skip


CHECKS = {
    check.kind: check
    for check in (
        Check(
            kind="constant_ratio",
            run=lambda i: [checks.check_constant_ratio(i.debiased, level=i.level)],
            needs=("debiased",), seconds=3.0,
        ),
        Check(
            kind="calibration",
            run=lambda i: [checks.check_calibration(i.cohort, level=i.level, random_state=i.seed)],
            refits=True, seconds=30.0,
        ),
        Check(
            kind="unconstrained",
            run=lambda i: [
                checks.check_unconstrained(i.cohort, level=i.level, random_state=i.seed)
            ],
            refits=True, seconds=65.0,
        ),
        Check(
            kind="overlap", run=lambda i: [checks.check_overlap(i.debiased, i.cohort)],
            needs=("debiased",), seconds=1.0,
        ),
        Check(
            kind="leakage", run=lambda i: [checks.check_leakage(i.cohort, level=i.level)],
            seconds=0.5,
        ),
        Check(
            kind="agreement",
            run=lambda i: [checks.check_agreement(i.purple, i.debiased, i.versus, level=i.level)],
            needs=("purple", "debiased"), seconds=0.5,
        ),
        Check(kind="sensitivity", run=_sensitivity, needs=("debiased",), seconds=70.0),
    )
}  # fmt: skip
