import numpy as np
from numba import njit

from relprev.model.vectormath import exp_negative, log_positive


@njit
def _apply(x, out_exp, out_log):
    for i in range(len(x)):
        out_exp[i] = exp_negative(-x[i])
        out_log[i] = log_positive(x[i])


def _both(x):
    out_exp, out_log = np.empty_like(x), np.empty_like(x)
    _apply(x, out_exp, out_log)
    return out_exp, out_log


def test_exp_agrees_with_numpy_to_full_precision():
    x = np.concatenate([np.linspace(0, 700, 200_001), np.geomspace(1e-300, 1, 1000), [0.0]])
    np.testing.assert_allclose(_both(x)[0], np.exp(-x), rtol=1e-15, atol=0)


def test_log_agrees_with_numpy_to_full_precision():
    near_one = 1.0 - np.geomspace(1e-16, 0.5, 2001)
    x = np.concatenate([np.geomspace(1e-300, 1e300, 200_001), near_one, 1 / near_one, [1.0]])
    ours, exact = _both(x)[1], np.log(x)
    np.testing.assert_allclose(ours, exact, rtol=2e-15, atol=1e-16)
