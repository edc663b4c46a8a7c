"""Compiled loops of the model. They release the GIL and are cached on disk.

Arrays: z, s, g, omega of one block of rows; ``aq`` of shape (m, 2) holds a and q of
the curvature rows (see `relprev.model.quadratic`); ``values`` is empty where every
stored entry of the columns is one.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from relprev.model.vectormath import exp_negative, log_positive

LARGEST_Z = 700.0  # exp(-700) is still a normal number
TINY = np.finfo(np.float64).tiny


@njit(inline="always", error_model="numpy")
def sigmoids(z):
    """sigma(z) and sigma(-z), both to full relative precision."""
    e = exp_negative(-abs(z))
    larger = 1.0 / (1.0 + e)
    smaller = e * larger
    positive = z >= 0.0
    return larger if positive else smaller, smaller if positive else larger


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc"})
def loss_block(z, s, g, omega, b, c, work, sums):
    """Adds a block's sums; on return work[0] holds omega * d loss / dz, and z includes b."""
    n = len(z)
    slope, in_theta, in_condition, rate = work[0], work[1], work[2], work[3]
    for i in range(n):
        rate[i] = c[g[i]]
    loss = 0.0
    total_slope = 0.0
    curvature = 0.0
    for i in range(n):
        zi = min(max(z[i] + b, -LARGEST_Z), LARGEST_Z)
        z[i] = zi
        sick, well = sigmoids(zi)
        p = rate[i] * sick
        t = (1.0 - rate[i]) + rate[i] * well
        odds = p / t
        diagnosed = s[i] == 1
        inside = sick if diagnosed else t
        loss -= omega[i] * log_positive(inside)
        slope[i] = omega[i] * (-well if diagnosed else odds * well)
        in_theta[i] = 0.0 if diagnosed else omega[i] * odds
        in_condition[i] = omega[i] * sick
        total_slope += slope[i]
        curvature += omega[i] * odds * well * well
    sums[0] += loss
    sums[1] += total_slope
    sums[2] += curvature
    k = len(c)
    for i in range(n):
        sums[3 + g[i]] += in_theta[i]
        sums[3 + k + g[i]] += in_condition[i]


@njit(nogil=True, cache=True, error_model="numpy")
def curvatures(z, s, g, omega, c, k, v, a):
    """Writes k, v and a of every row (see `relprev.model.quadratic`)."""
    for i in range(len(z)):
        k[i] = c[g[i]]
    for i in range(len(z)):
        rate = k[i]
        sick, well = sigmoids(z[i])
        well = max(well, 1e-100)
        odds = rate * sick / ((1.0 - rate) + rate * well)
        k[i] = omega[i] * odds
        v[i] = well
        a[i] = omega[i] * (sick * well if s[i] == 1 else odds * well * well)


@njit(nogil=True, cache=True, error_model="numpy")
def uniform(i):
    """A fixed pseudo-random number in [0, 1) for row i (splitmix64)."""
    x = np.uint64(i) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((x ^ (x >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@njit(nogil=True, cache=True, error_model="numpy")
def sample_block(k, v, a, tau, offset, rows, kept):
    """Draws rows with probability tau a; returns their number, their k, v, a go to ``kept``."""
    count = 0
    for i in range(len(a)):
        chance = min(1.0, tau * a[i])
        if uniform(offset + i) < chance:
            rows[count] = offset + i
            kept[0, count] = k[i] / chance
            kept[1, count] = v[i]
            kept[2, count] = a[i] / chance
            count += 1
    return count


@njit(nogil=True, cache=True, error_model="numpy")
def block_sums(aq, k, kv, g, scores, db, dtheta, along, totals, by_group):
    """Sums over the curvature rows for the joint move of b, theta and the scale of w.

    eta = x.d + db follows from q = a eta + kv dtheta; ``along`` receives x.(w + d).
    totals: q, a along, q along, a along^2; by_group: derivative in theta, kv along.
    """
    totals[:] = 0.0
    by_group[:] = 0.0
    for i in range(len(k)):
        a, q = aq[i, 0], aq[i, 1]
        moved = dtheta[g[i]]
        eta = (q - kv[i] * moved) / a if a > 0.0 else 0.0
        x = scores[i] + eta - db
        along[i] = x
        totals[0] += q
        totals[1] += a * x
        totals[2] += q * x
        totals[3] += a * x * x
        by_group[0, g[i]] += kv[i] * eta + k[i] * moved
        by_group[1, g[i]] += kv[i] * x


@njit(nogil=True, cache=True, error_model="numpy")
def shift(aq, kv, g, move, along):
    for i in range(len(kv)):
        aq[i, 1] += aq[i, 0] * (move[0] + move[-1] * along[i]) + kv[i] * move[1 + g[i]]


@njit(nogil=True, cache=True, error_model="numpy")
def newton(hessian, slope, low, high, free, flat, move):
    """The move of `descent.bounded_newton` without bounds; returns whether it is within them."""
    sub = np.flatnonzero(free)
    n = len(sub)
    unit, unbounded = np.empty(n), np.zeros(n)
    block = np.empty((n, n))
    for i in range(n):
        unit[i] = 1.0 / np.sqrt(max(hessian[sub[i], sub[i]], TINY))
    for i in range(n):
        for j in range(n):
            block[i, j] = hessian[sub[i], sub[j]] * unit[i] * unit[j]
    curvature, directions = np.linalg.eigh(block)
    for e in range(n):
        if curvature[e] > flat:
            down = 0.0
            for i in range(n):
                down -= directions[i, e] * unit[i] * slope[sub[i]]
            for i in range(n):
                unbounded[i] += unit[i] * directions[i, e] * down / curvature[e]
    move[:] = 0.0
    inside = True
    for i in range(n):
        inside &= low[sub[i]] <= unbounded[i] <= high[sub[i]]
        move[sub[i]] = unbounded[i]
    return inside


@njit(nogil=True, cache=True, error_model="numpy")
def block_system(rows, w, step, gradient, on_w, ridge, corrections, l1, r, on_r, system):
    """Derivatives and curvature of b, theta and the scale of w (see `descent._Block`).

    Fills r = w + d, on_r = u_w'r, and of the system the slope, and the Hessian's last row.
    """
    aq, k, kv, g, scores, along = rows
    u, signs, seen = corrections
    slope, hessian = system
    p, last = len(w), len(slope) - 1
    on_r[:] = 0.0
    on_scale, bend = 0.0, 0.0
    for j in range(p):
        r[j] = w[j] + step[j]
        if r[j] == 0.0:
            continue
        on_scale += (on_w[j] + ridge[j] * step[j]) * r[j] + l1 * abs(r[j])
        bend += ridge[j] * r[j] * r[j]
        for m in range(len(signs)):
            on_r[m] += u[j, m] * r[j]
    totals, by_group = np.empty(4), np.empty((2, last - 1))
    block_sums(aq, k, kv, g, scores, step[p], step[p + 1 :], along, totals, by_group)
    for i in range(last):
        slope[i] = gradient[p + i] + (totals[0] if i == 0 else by_group[0, i - 1])
        hessian[i, last] = totals[1] if i == 0 else by_group[1, i - 1]
        for m in range(len(signs)):
            slope[i] += u[p + i, m] * signs[m] * seen[m]
            hessian[i, last] += u[p + i, m] * signs[m] * on_r[m]
        hessian[last, i] = hessian[i, last]
    slope[last] = on_scale + totals[2]
    hessian[last, last] = bend + totals[3]
    for m in range(len(signs)):
        slope[last] += on_r[m] * signs[m] * seen[m]
        hessian[last, last] += signs[m] * on_r[m] * on_r[m]


@njit(nogil=True, cache=True, error_model="numpy")
def block_bounds(slope, step, r, upper, largest, may_move, low, high, free):
    """How far b, theta and the scale of w may move, which are free to, and their largest slope."""
    p, last, worst = len(r), len(slope) - 1, 0.0
    for i in range(last):
        high[i], low[i] = upper[i] - step[p + i], -largest - step[p + i]
        up, down = high[i] > 0.0 or slope[i] > 0.0, low[i] < 0.0 or slope[i] < 0.0
        free[i] = may_move[i] and up and down
        if free[i]:
            worst = max(worst, abs(slope[i]))
    high[last], low[last] = 0.5, -0.5
    free[last] = np.any(r != 0.0)
    return worst


@njit(nogil=True, cache=True, error_model="numpy")
def block_shift(rows, step, corrections, r, on_r, move):
    """Moves b, theta and the scale of w, and everything that is kept beside the step."""
    aq, _, kv, g, _, along = rows
    u, signs, seen = corrections
    p, scale = len(r), move[-1]
    for j in range(p):
        step[j] += scale * r[j]
    for i in range(len(move) - 1):
        step[p + i] += move[i]
    for m in range(len(signs)):
        seen[m] += scale * on_r[m]
        for i in range(len(move) - 1):
            seen[m] += move[i] * u[p + i, m]
    shift(aq, kv, g, move, along)


@njit(nogil=True, cache=True, error_model="numpy")
def columns_diagonal(indptr, rows, values, aq):
    out = np.zeros(len(indptr) - 1)
    for j in range(len(out)):
        total = 0.0
        for e in range(indptr[j], indptr[j + 1]):
            x = values[e] if len(values) else 1.0
            total += x * x * aq[rows[e], 0]
        out[j] = total
    return out


@njit(nogil=True, cache=True, error_model="numpy")
def columns_dot(indptr, rows, values, w, n_rows):
    out = np.zeros(n_rows)
    for j in range(len(w)):
        if w[j] != 0.0:
            for e in range(indptr[j], indptr[j + 1]):
                out[rows[e]] += w[j] * (values[e] if len(values) else 1.0)
    return out


@njit(nogil=True, cache=True, error_model="numpy")
def columns_tdot(indptr, rows, values, r):
    out = np.zeros(len(indptr) - 1)
    for j in range(len(out)):
        total = 0.0
        for e in range(indptr[j], indptr[j + 1]):
            total += r[rows[e]] * (values[e] if len(values) else 1.0)
        out[j] = total
    return out


@njit(inline="always", error_model="numpy")
def soft_threshold(target, shrink):
    """The target moved towards zero by ``shrink``, at most to zero."""
    size = max(abs(target) - shrink, 0.0)
    return size if target > 0.0 else -size


@njit(inline="always", error_model="numpy")
def within(centre, cap, value):
    """The value, no further than ``cap`` from the centre."""
    return min(max(value, centre - cap), centre + cap)


@njit(nogil=True, cache=True, error_model="numpy")
def sweep(indptr, rows, values, aq, grad, w, d, diagonal, extra, u, signs, seen, l1, cap, working):
    """One sweep of soft-threshold updates; returns the largest KKT violation met."""
    binary = len(values) == 0
    worst = 0.0
    for j in working:
        curvature = diagonal[j]
        if curvature <= 0.0:
            continue
        slope = grad[j] + extra[j] * d[j]
        for m in range(len(signs)):
            slope += signs[m] * u[j, m] * seen[m]
        if binary:
            for e in range(indptr[j], indptr[j + 1]):
                slope += aq[rows[e], 1]
        else:
            for e in range(indptr[j], indptr[j + 1]):
                slope += values[e] * aq[rows[e], 1]
        now = w[j] + d[j]
        moved = within(w[j], cap[j], soft_threshold(now - slope / curvature, l1 / curvature))
        delta = moved - now
        if delta == 0.0:
            continue
        worst = max(worst, abs(delta) * curvature)
        d[j] = moved - w[j]  # not d[j] + delta: where moved is zero, w + d must be zero exactly
        for m in range(len(signs)):
            seen[m] += u[j, m] * delta
        if binary:
            for e in range(indptr[j], indptr[j + 1]):
                aq[rows[e], 1] += aq[rows[e], 0] * delta
        else:
            for e in range(indptr[j], indptr[j + 1]):
                aq[rows[e], 1] += values[e] * aq[rows[e], 0] * delta
    return worst


@njit(nogil=True, cache=True, error_model="numpy")
def gram_sweeps(H, slope, w, d, l2, l1, cap, tolerance, most):
    """Sweeps over all w with curvature H; keeps slope = gradient + H d (see `model.gram`).

    Ends after ``most`` sweeps, or one that meets no KKT violation above the tolerance; returns
    the largest violation that the first one met.
    """
    first = 0.0
    for number in range(most):
        worst = 0.0
        for j in range(len(w)):
            curvature = H[j, j] + l2[j]
            if curvature <= 0.0:
                continue
            now = w[j] + d[j]
            target = now - (slope[j] + l2[j] * now) / curvature
            moved = within(w[j], cap[j], soft_threshold(target, l1 / curvature))
            delta = moved - now
            if delta == 0.0:
                continue
            worst = max(worst, abs(delta) * curvature)
            d[j] = moved - w[j]  # not d[j] + delta: where moved is zero, w + d must be zero exactly
            row = H[j]
            for i in range(len(slope)):
                slope[i] += delta * row[i]
        if number == 0:
            first = worst
        if worst <= tolerance:
            break
    return first
