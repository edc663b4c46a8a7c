"""exp and log that the compiler can run on several rows at once.

The C library's versions handle one number per call, which makes them the slowest
part of a pass over the data. These are branch-free, so loops that call them are
vectorised. Their relative error is below 1e-15 on the ranges given (tested).

exp:  x = k log 2 + r with |r| <= log(2) / 2, and exp(r) by its Taylor polynomial.
log:  x = 2^k m with m in [sqrt(1/2), sqrt(2)), and, with s = (m - 1) / (m + 1),
      log m = 2 (s + s^3 / 3 + s^5 / 5 + ...), where |s| < 0.172.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

LOG2_E = 1.4426950408889634
LOG_2_HIGH = 6.93147180369123816490e-01  # log 2 to 32 bits: k * LOG_2_HIGH is exact
LOG_2_LOW = 1.90821492927058770002e-10
ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer in the low bits
SQRT_HALF_BITS = int(np.array([np.sqrt(0.5)]).view(np.int64)[0])


@intrinsic
def _to_bits(typing_context, x):
    def build(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), build


@intrinsic
def _from_bits(typing_context, bits):
    def build(context, builder, signature, args):
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), build


@njit(inline="always", error_model="numpy", fastmath={"contract"})
def exp_negative(x):
    """exp(x) for -700 <= x <= 0."""
    shifted = x * LOG2_E + ROUND
    k = shifted - ROUND
    r = (x - k * LOG_2_HIGH) - k * LOG_2_LOW
    p = 1.0 / 6227020800.0  # 1 / 13!
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return _from_bits(_to_bits(p) + (_to_bits(shifted) << 52))


@njit(inline="always", error_model="numpy", fastmath={"contract"})
def log_positive(x):
    """log(x) for positive, normal x."""
    bits = _to_bits(x)
    exponent = (bits - SQRT_HALF_BITS) >> 52
    f = _from_bits(bits - (exponent << 52)) - 1.0
    s = f / (2.0 + f)
    s2 = s * s
    p = 2.0 / 21.0
    p = p * s2 + 2.0 / 19.0
    p = p * s2 + 2.0 / 17.0
    p = p * s2 + 2.0 / 15.0
    p = p * s2 + 2.0 / 13.0
    p = p * s2 + 2.0 / 11.0
    p = p * s2 + 2.0 / 9.0
    p = p * s2 + 2.0 / 7.0
    p = p * s2 + 2.0 / 5.0
    p = p * s2 + 2.0 / 3.0
    k = float(exponent)
    return k * LOG_2_HIGH + (k * LOG_2_LOW + (s * s2 * p + 2.0 * s))
