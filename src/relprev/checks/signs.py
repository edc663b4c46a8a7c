"""Do the features look like signs of the condition, before anything is fitted?

Symptoms, findings and complications are more frequent among the diagnosed. Where the codes that
tell most are *less* frequent among them, they are other reasons for a visit: a patient has one
principal diagnosis, and whoever came for something else did not come for this. Such codes predict
the record, not the condition. With n_j visits that have feature j, O_j of them diagnosed, and the
share p of all visits diagnosed,

    z_j = (O_j - n_j p) / sqrt(n_j p (1 - p)).

Numbers are not judged: as signs they may be high or low.
"""

from __future__ import annotations

import numpy as np

from relprev.arrays import FloatArray
from relprev.checks.feature_counts import numeric_features
from relprev.cohort import Cohort, CohortPart
from relprev.matrix import BinaryCSR
from relprev.messages import Message

STRONGEST = 30  # features judged
CLEAR = 3.0  # |z| above which a feature says something


def warn_of_no_signs(cohort: Cohort) -> list[Message]:
    """What suggests that the features are not signs of the condition.

    Parameters
    ----------
    cohort : Cohort

    Returns
    -------
    list of Message
        Empty if nothing does.

    Examples
    --------
    >>> from relprev.simulate import ed_visits
    >>> warn_of_no_signs(ed_visits(20_000, n_codes=50, prevalence=0.2, seed=1).cohort)
    []
    """
    n, diagnosed, bare, have, hit = cohort.total(_counts)
    share = diagnosed / max(n, 1)
    expected = have * share
    z = (hit - expected) / np.sqrt(np.maximum(expected * (1 - share), 1e-300))
    z[numeric_features(cohort)] = 0.0
    top = np.argsort(-np.abs(z), kind="stable")[:STRONGEST]
    strongest: FloatArray = z[top][np.abs(z[top]) > CLEAR]
    said = []
    if len(strongest) and (strongest < 0).sum() > len(strongest) / 2:
        said.append(Message(
            "most of the features that tell the diagnosed from the others are rarer among the "
            "diagnosed: they look like signs of something else, not of the condition. Use symptoms "
            "and findings as features, or leave out codes that compete with the condition for the "
            "principal diagnosis"
        ))  # fmt: skip
    if bare > diagnosed / 2:
        said.append(Message(
            "most diagnosed visits have no feature at all: the condition seems to be recorded on "
            "its own, as principal diagnosis only, so nothing tells who else may have it. Add "
            "symptoms or findings as features"
        ))  # fmt: skip
    return said


def _counts(part: CohortPart) -> tuple[int, int, int, FloatArray, FloatArray]:
    """Visits, diagnosed, diagnosed without any feature; with each feature, visits and diagnosed."""
    hit, X = part.diagnosed == 1, part.X
    if isinstance(X, BinaryCSR):  # without kernels, which take a second to load
        per_row = np.diff(X.indptr)
        have, both = (
            np.bincount(X.indices[rows], minlength=part.n_cols).astype(float)
            for rows in (slice(None), np.repeat(hit, per_row))
        )
        some = per_row > 0
    else:
        present = X.to_scipy() != 0
        have, both = (np.asarray(present.T @ mask.astype(float)) for mask in (hit | True, hit))
        some = np.asarray(present.sum(axis=1)).ravel() > 0
    return part.n, int(hit.sum()), int((hit & ~some).sum()), have, both
