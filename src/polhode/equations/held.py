"""Constraints that hold, in plain NumPy: what `polhode derive --to python` writes below the equations."""

import numpy as np

FLOOR = 1e-6  # of the inertia that a row reflects to a speed: less counts as this much


def held(
    M: np.ndarray,
    b: np.ndarray,
    J: np.ndarray,
    gamma: np.ndarray,
    reference: np.ndarray,
    least: np.ndarray,
    body: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Solve M udot = b + J^T lam, J udot + gamma = 0 at one state; NaN where udot is not determined.

    Rows are eliminated with complete pivoting, in units in which a pivot of 1 is the least that counts;
    so rows that repeat others are left out, and links may be without mass. The equations of the
    independent speeds are recombined from all [Gillespie, eq. 44, 45]. Of reactions that are not
    determined, the least.

    reference : what entries of J could be, squared
    least     : of its size that a row must have of its own
    body      : that each speed moves, by number

    Returns udot (n,), lam (m,).
    """
    m, n = J.shape
    nothing = np.full(n, np.nan), np.full(m, np.nan)
    with np.errstate(all="ignore"):
        # speeds are measured by their inertia, or by what the rows reflect to them; rows by what they could be
        own = M.diagonal()
        heavy = own > 0
        reflected = J**2 / (J[:, heavy] ** 2 / own[heavy]).sum(axis=1)[:, None]
        d = np.where(heavy, own, np.max(np.where(np.isfinite(reflected), reflected, 0), axis=0))
        d = np.where(d > 0, d, d.max() if d.max() > 0 else 1.0)
        whole = (reference / d).sum(axis=1)[:, None]
        others = reference / d @ (body[:, None] != body)
        light = (others > 1e-12 * whole) & (others < FLOOR * whole)
        lightest = np.where(light, FLOOR * reference / others, 0).max(axis=0)
        d = 1 / np.sqrt(np.maximum(d, lightest))
        rho = np.sqrt((reference * d**2).sum(axis=1))
    counts = rho > 0
    scaled = J * d / np.where(counts, rho, 1)[:, None] * counts[:, None]
    M, b = M * d * d[:, None], b * d
    # elimination: the rows become [1 -D | e]
    table = np.column_stack([scaled / least[:, None], -gamma / np.where(counts, rho, 1) / least])[counts]
    dependent: list[int] = []
    while len(dependent) < min(table.shape[0], n):
        k = len(dependent)
        i, j = divmod(int(np.argmax(np.abs(table[k:, :n]))), n)
        if not abs(table[k + i, j]) > 1:
            break
        table[[k, k + i]] = table[[k + i, k]]
        table[k] /= table[k, j]
        factors = table[:, j].copy()
        factors[k] = 0
        table -= factors[:, None] * table[k]
        table[:, j] = np.arange(len(table)) == k
        dependent.append(j)
    rank = len(dependent)
    free = [j for j in range(n) if j not in dependent]
    # recombination: v = G y + e
    G, e = np.zeros((n, n - rank)), np.zeros(n)
    G[free], G[dependent], e[dependent] = np.eye(n - rank), -table[:rank, free], table[:rank, n]
    normal = G.T @ M @ G
    try:
        factor = np.linalg.cholesky(normal)
    except np.linalg.LinAlgError:
        return nothing
    if not np.all(factor.diagonal() ** 2 > 1e-14 * normal.diagonal()):
        return nothing
    v = G @ np.linalg.solve(factor.T, np.linalg.solve(factor, G.T @ (b - M @ e))) + e
    # reactions: the least with J^T lam = M v - b
    Q, R = np.linalg.qr(scaled[:, dependent])
    lam = Q @ np.linalg.solve(R.T, (M @ v - b)[dependent])
    return v * d, np.where(counts, lam / np.where(counts, rho, 1), 0)
