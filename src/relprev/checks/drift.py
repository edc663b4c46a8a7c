"""The test that theta_g(x) = theta_g + delta_g phi(x) has delta = 0, and the size of delta.

With U the score of `relprev.inference.score` and J = - mean dU/dtheta, J_k = - mean
d(U phi_k)/dtheta, the sums

    T_k = sum_i omega_i (phi_k(x_i) - J_k J^{-1}) U_i

have mean zero and, like any influence function, a variance V under the sampling design
(subtracting J_k J^{-1} U accounts for theta being estimated). With q sums and df degrees
of freedom, F = (df - q + 1) / (df q) T' V^{-1} T is compared with F(q, df - q + 1), where the
last number is at most the effective number of informative cases, as for intervals. One Newton
step from delta = 0 gives the size of the drift,

    delta = H^{-1} T,    H_kl = J_kl - J_k J^{-1} J_l,    J_kl = - mean d(U phi_k phi_l)/dtheta.

All of these are sums over rows, which may be stored in parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from relprev.arrays import FloatArray
from relprev.errors import InvalidInputError, TooFewCasesError
from relprev.inference.moments import case_information
from relprev.inference.sampling import SamplingDesign
from relprev.inference.score import ScoreData, ScorePart, row_scores, score_sums
from relprev.messages import Message, Number


@dataclass(frozen=True)
class DriftTest:
    """Drift delta of shape (q * (K - 1),), its covariance, and the test that all are zero."""

    drift: FloatArray
    covariance: FloatArray
    statistic: float
    p_value: float
    degrees_of_freedom: float


@dataclass(frozen=True)
class Functions:
    """The functions phi_1 to phi_q of every row.

    Parameters
    ----------
    compute : function of (part of the data, its rows of ``rows``)
        Returns phi for the part, shape (rows of the part, q).
    rows : array of shape (n, ...), optional
        Further input to ``compute``.
    """

    compute: Callable[[ScorePart, Any], FloatArray]
    rows: NDArray[Any] | None = None

    def of_parts(self, sizes: Sequence[int]) -> list[Any]:
        """``rows`` of every part."""
        if self.rows is None:
            return [None] * len(sizes)
        return np.split(self.rows, np.cumsum(sizes)[:-1])


def drift_test(
    data: ScoreData, theta: FloatArray, design: SamplingDesign, phi: Functions | FloatArray
) -> DriftTest:
    """The test for functions ``phi`` of shape (n, q); see the module's docstring."""
    functions = phi if isinstance(phi, Functions) else Functions(as_given, phi)
    each = functions.of_parts(data.sizes)
    T, P, H = _projection(data, functions.compute, theta, each)
    V = design.covariance_in_parts(data, _projected, functions.compute, theta, P, each=each)
    df, count = design.degrees_of_freedom, len(T)
    if count >= df:
        raise InvalidInputError(
            Message(
                "by makes {comparisons} comparisons, but the design has only {df} degrees of "
                "freedom; use fewer categories",
                comparisons=Number(count),
                df=Number(df),
            )
        )
    try:
        statistic = float(T @ np.linalg.solve(V, T)) * (df - count + 1) / (df * count)
        inverse = np.linalg.inv(H)
    except np.linalg.LinAlgError:
        raise TooFewCasesError(
            Message(
                "too few cases to test whether diagnosis rates drift: the risk model predicts "
                "nearly the same risk everywhere, or a category has too few cases; use fewer "
                "features or broader categories"
            )
        ) from None
    informed = float(case_information(data, theta, design)[0].diagonal().min())
    spare = max(min(df - count + 1, informed), 1.0)
    return DriftTest(
        drift=inverse @ T,
        covariance=inverse @ V @ inverse.T,
        statistic=statistic,
        p_value=float(stats.f.sf(statistic, count, spare)),
        degrees_of_freedom=spare,
    )


def _projection(
    data: ScoreData, compute: Callable[..., FloatArray], theta: FloatArray, each: Sequence[Any]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """T, (q (K - 1),); J_k J^{-1}, (q (K - 1), K - 1); and H."""
    free = data.free
    U, J, J_k, J_kl = data.total(_slopes, compute, theta, each=each)
    K, q = len(free), len(J_k)
    J = J[np.ix_(free, free)]
    J_k = J_k[:, free][:, :, free]
    J_kl = J_kl[:, :, free][..., free].transpose(0, 2, 1, 3).reshape(q * K, q * K)
    J_l, J_k = np.hstack(list(J_k)), J_k.reshape(q * K, K)
    P = J_k @ np.linalg.inv(J)
    return U[1:, free].ravel() - P @ U[0, free], P, J_kl - J_k @ np.linalg.solve(J, J_l)


def as_given(data: ScorePart, phi: FloatArray) -> FloatArray:
    return phi


def _slopes(
    data: ScorePart, own: Any, compute: Callable[..., FloatArray], theta: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Sums of U and of U phi_k, (1 + q, K); J, (K, K); J_k, (q, K, K); J_kl, (q, q, K, K)."""
    phi = compute(data, own)
    K, q = data.n_groups, phi.shape[1]
    U, J_k, J_kl = np.empty((1 + q, K)), np.empty((q, K, K)), np.empty((q, q, K, K))
    U[0], slope = score_sums(data, theta)
    for k in range(q):
        weighted = replace(data, omega=data.omega * phi[:, k])
        U[1 + k], J_k[k] = score_sums(weighted, theta)
        for j in range(k + 1):
            twice = replace(data, omega=weighted.omega * phi[:, j])
            J_kl[k, j] = J_kl[j, k] = score_sums(twice, theta)[1]
    return U, -slope, -J_k, -J_kl


def _projected(
    data: ScorePart, own: Any, compute: Callable[..., FloatArray], theta: FloatArray, P: FloatArray
) -> Iterator[FloatArray]:
    """omega (phi_k - J_k J^{-1}) U of every row: q (K - 1) columns, one at a time."""
    phi, U = compute(data, own), row_scores(data.with_all_risk(), theta)[:, data.free]
    K = U.shape[1]
    for position, row in enumerate(P):
        k, group = divmod(position, K)
        yield data.omega * (phi[:, k] * U[:, group] - U @ row)
