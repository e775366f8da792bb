"""`flexible`: a flexible body from arrays, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .errors import fault
from .flexible import ORDERS, ROTATIONS
from .nodal import NEAR, Nodal, Region, averages
from .nodal_moments import Fields, Moments, fields_of_matrix, fields_of_points, of_matrix, of_points
from .reduction import craig_bampton, square_symmetric
from .spelling import spelled

WHAT = "Flexible body"


@spelled("flexible")
def flexible(
    nodes: Any, *, mass: Any, stiffness: Any, modes: int | None = None, root: Sequence[int] = (),
    interfaces: Mapping[str, Any] | None = None, keep: int | None = None, shapes: Any = None, rotations: Any = None,
    second: Any = None, geometric: tuple[Any, Any] | None = None, damping: Any = 0.0, edges: Any = (),
    outline: Any = None, order: str = "first", rotation: str = "proper",
) -> Nodal:  # fmt: skip
    """Make a flexible body of matrices of finite elements, or of modes that are known.

    nodes      : (n, 3), in the axes of the body, whose joint is at the origin
    mass       : (n,) masses of nodes, or the matrix of the elements, 3 n or 6 n rows: node by node its displacements,
                 with 6 n then its rotations
    stiffness  : with `modes` that of the elements, as many rows as the mass; with `shapes` that of the modes, (m, m)

    Reduced here, by Craig and Bampton:
    modes      : how many normal modes with the interfaces held
    root       : nodes that are clamped to the body's frame
    interfaces : by name, a node or several: each adds up to 6 modes, so that loads there act as on the whole
    keep       : how many modes remain, those of the lowest frequencies; None for all

    Known already:
    shapes     : (n, 3, m), displacements of the nodes at an amplitude of 1
    rotations  : (n, 3, m), small rotations of the nodes. Without them those of the nodes that `edges` lead to

    second     : (n, 3, m, m), what displacements have of second order, for the shapes as given
    geometric  : (A, W), stiffness of the modes by stresses: A (3, m, m) where the body accelerates by 1 along each,
                 W (3, 3, m, m) where its points at s accelerate by s_a along c; see docs/flexible-arrays.md
    damping    : a ratio of the critical one, of all modes or of each, or a matrix (m, m)
    edges      : pairs of nodes that elements join: for rotations of nodes that have none of their own, and for pictures
    outline    : pairs of nodes that pictures join instead
    order      : "first" needs `second` or `geometric`; "second" needs `second`, and leaves out nothing of what it does;
                 "full" is the linear field without stiffening
    """
    x = _array(nodes, "nodes", (None, 3))
    n = len(x)
    pairs = _edges(edges, n)
    if interfaces is not None and not isinstance(interfaces, Mapping):
        raise fault(f'{WHAT}: interfaces is {interfaces!r:.60}, expected names with nodes: {{"tip": [10]}}.')
    named = {name: _members(given, n, f"interface {name!r}") for name, given in (interfaces or {}).items()}
    M, held = _mass(mass, n), _members(root, n, "root")
    if (shapes is None) == (modes is None):
        raise fault(f"{WHAT}: give either modes=, how many to find, or shapes=, the modes themselves.")
    if order not in ORDERS:
        raise fault(f"{WHAT}: order is {order!r:.60}, expected one of {', '.join(map(repr, ORDERS))}.")
    if rotation not in ROTATIONS:
        raise fault(f"{WHAT}: rotation is {rotation!r:.60}, expected one of {', '.join(map(repr, ROTATIONS))}.")
    if order == "first" and second is None and geometric is None:
        raise fault(
            f'{WHAT}: order="first" needs the second order of the displacements, which matrices of mass and stiffness '
            'do not have. Give second= or geometric=, or order="full": without stiffening by tension, good where '
            "rotations are slow beside the lowest frequency."
        )
    if order == "second" and second is None:
        raise fault(
            f'{WHAT}: order="second" needs second=, the displacements of second order. Give it, or order="first" with '
            'geometric=, or order="full".'
        )
    if modes is not None:
        if second is not None or geometric is not None or rotations is not None:
            raise fault(
                f"{WHAT}: second=, geometric= and rotations= belong to shapes=; with modes= none are known yet."
            )
        phi, K = reduced(x, M, stiffness, modes, held, list(named.values()), keep)
    else:
        given = _array(shapes, "shapes", (n, 3, None))
        turned = None if rotations is None else _array(rotations, "rotations", given.shape)
        phi = given if turned is None else np.concatenate([given, turned], axis=1)
        K = square_symmetric(stiffness, "stiffness of the modes")
    _check_root(x, phi[:, :3], held)
    many = phi.shape[2]
    if K.shape != (many, many):
        raise fault(f"{WHAT}: stiffness has shape {K.shape}, expected ({many}, {many}), a row for each mode.")
    if (least := float(np.linalg.eigvalsh(K)[0])) < -1e-9 * np.abs(K).max():
        raise fault(f"{WHAT}: stiffness is negative along one mode ({least:.6g}), expected none below 0.")
    g = None if second is None else _second(second, n, many)
    moments = _moments(M, x, phi, g)
    if geometric is not None:
        moments = _with_geometric(moments, geometric)
    _require_mass(moments)
    return Nodal(
        names=tuple(str(k + 1) for k in range(many)),
        nodes=x,
        shapes=np.ascontiguousarray(phi[:, :3]),
        rotations=np.ascontiguousarray(phi[:, 3:]) if phi.shape[1] == 6 else by_neighbours(x, phi, pairs),
        second=g,
        moments=moments,
        rigidity=K,
        losses=losses(damping, K, np.einsum("klaa->kl", moments.C2)),
        regions={name: Region(at=x[list(among)].mean(axis=0), nodes=among) for name, among in named.items()},
        edges=pairs if outline is None else _edges(outline, n),
        order=order,
        rotation=rotation,
        fields=_fields(M, x, phi, g) if order == "second" and g is not None else None,
    )


def reduced(
    x: np.ndarray, M: Any, stiffness: Any, modes: int, root: Sequence[int], among: Sequence[Sequence[int]],
    keep: int | None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Shapes (n, f, m) whose largest displacement is 1 m, and their stiffness."""
    n = len(x)
    K = square_symmetric(stiffness, "stiffness")
    heavy = _spread(M, hasattr(K, "tocsr")) if M.ndim == 1 else M
    if K.shape != heavy.shape:
        raise fault(f"{WHAT}: stiffness has shape {K.shape}, expected that of the mass, {heavy.shape}.")
    f = K.shape[0] // n
    if not len(root):
        raise fault(f"{WHAT}: no root. Give root=[...], the nodes that are clamped to the body's frame.")
    if keep is not None and (not isinstance(keep, int) or keep < 1):
        raise fault(f"{WHAT}: keep is {keep!r:.60}, expected how many modes remain: 1, 2, ...")
    rows = [_interface(x, nodes, f) for nodes in among]
    C = np.vstack(rows).reshape(-1, n * f) if rows else np.zeros((0, n * f))
    clamped = [f * i + a for i in root for a in range(f)]
    basis = craig_bampton(heavy, K, C, modes, clamped=clamped)
    many = min(keep or basis.shapes.shape[1], basis.shapes.shape[1])
    phi, w = apart(basis.shapes[:, :many], basis.frequencies[:many], f)
    phi = phi.reshape(n, f, many)
    scale = np.array([_scale(phi[:, :, k], np.linalg.norm(x, axis=1).max()) for k in range(many)])
    return phi * scale, np.diag((w * scale) ** 2)


def _scale(shape: np.ndarray, size: float) -> float:
    """What makes the largest displacement 1 m, or the largest rotation 1 rad of a mode that only turns nodes.

    The first of the largest entries becomes positive.
    """
    moved, turned = shape[:, :3], shape[:, 3:]
    far = float(np.linalg.norm(moved, axis=1).max())
    spun = float(np.linalg.norm(turned, axis=1).max()) if turned.size else 0.0
    part = moved if far > 1e-6 * size * spun else turned
    entries = part.reshape(-1)
    first = entries[np.flatnonzero(np.abs(entries) > 0.999 * np.abs(entries).max())[0]]
    return float(np.sign(first)) / float(np.linalg.norm(part, axis=1).max())


def apart(shapes: np.ndarray, w: np.ndarray, f: int) -> tuple[np.ndarray, np.ndarray]:
    """Choose among modes of one frequency, as of a square bar, those along x, y, z: any mixture would do."""
    found, start = shapes.copy(), 0
    weight = np.tile([1.0, 2.0, 3.0, 0, 0, 0][:f], len(shapes) // f)
    for end in range(1, len(w) + 1):
        if end < len(w) and w[end] - w[start] <= 1e-7 * w[start]:
            continue
        if end - start > 1:
            part = shapes[:, start:end]
            found[:, start:end] = part @ np.linalg.eigh(part.T @ (weight[:, None] * part))[1]
        start = end
    return found, w


def _interface(x: np.ndarray, nodes: Sequence[int], f: int) -> np.ndarray:
    """Rows whose products with the displacements are those of an interface, (b, n f)."""
    if len(nodes) == 1:
        rows = np.zeros((f, len(x), f))
        rows[:, nodes[0]] = np.eye(f)
        return rows.reshape(f, -1)
    means = averages(x[list(nodes)])
    rows = np.zeros((6, len(x), f))
    rows[:, list(nodes), :3] = means
    flat = rows.reshape(6, -1)
    return np.asarray(flat[np.abs(flat).max(axis=1) > 0])


def by_neighbours(x: np.ndarray, phi: np.ndarray, edges: Iterable[tuple[int, int]]) -> np.ndarray:
    """Rotations of nodes, closest to the displacements of those that edges lead to; NaN where they are too few."""
    near: list[list[int]] = [[i] for i in range(len(x))]
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    found = np.full((len(x), 3, phi.shape[2]), np.nan)
    for i, among in enumerate(near):
        spread = x[among] - x[among].mean(axis=0)
        if len(among) > 2 and np.linalg.matrix_rank(spread, tol=1e-6 * np.abs(spread).max()) > 1:
            found[i] = np.einsum("rna,nak->rk", averages(x[among])[3:], phi[among, :3])
    return found


def losses(damping: Any, K: np.ndarray, M: np.ndarray) -> np.ndarray:
    """The damping of the modes: a matrix as it is, ratios as X^-T diag(2 zeta w) X^-1 with X^T M X = 1."""
    many = len(K)
    try:
        given = np.asarray(damping, dtype=float)
    except (TypeError, ValueError):
        given = np.full(1, np.nan)
    if not np.isfinite(given).all() or given.shape not in ((), (many,), (many, many)):
        raise fault(f"{WHAT}: damping is {damping!r:.60}, expected a ratio, {many} ratios, or {many} x {many} numbers.")
    if given.ndim == 2:
        return np.asarray(square_symmetric(given, "damping"))
    if (given < 0).any():
        raise fault(f"{WHAT}: damping is {damping!r:.60}, expected ratios of 0 or more.")
    L = np.linalg.cholesky(M)
    inverse = np.linalg.inv(L)
    squares, y = np.linalg.eigh(inverse @ K @ inverse.T)
    back = L @ y
    return np.asarray((back * (2 * given * np.sqrt(np.maximum(squares, 0)))) @ back.T)


def _moments(M: Any, x: np.ndarray, phi: np.ndarray, g: np.ndarray | None) -> Moments:
    if M.ndim == 1:
        return of_points(M, x, phi[:, :3], g)
    f = M.shape[0] // len(x)
    if phi.shape[1] < f:
        raise fault(f"{WHAT}: the mass has rotations of nodes (6 n rows), and the shapes have none. Give rotations=.")
    return of_matrix(M, x, phi[:, :f], g)


def _fields(M: Any, x: np.ndarray, phi: np.ndarray, g: np.ndarray) -> Fields | None:
    if M.ndim == 1:
        return fields_of_points(M, x, phi[:, :3], g)
    return fields_of_matrix(M, x, phi[:, : M.shape[0] // len(x)], g)


def _with_geometric(moments: Moments, geometric: tuple[Any, Any]) -> Moments:
    many = len(moments.P)
    along = _array(geometric[0], "geometric[0]", (3, many, many))
    spun = _array(geometric[1], "geometric[1]", (3, 3, many, many))
    for values in (along, spun):
        if np.abs(values - values.swapaxes(-1, -2)).max() > 1e-9 * max(np.abs(values).max(), 1e-300):
            raise fault(f"{WHAT}: geometric has matrices that are not symmetric in the modes.")
    return Moments(
        m=moments.m, h=moments.h, S=moments.S, P=moments.P, C1=moments.C1, C2=moments.C2,
        H2=along.transpose(1, 2, 0), G2=spun.transpose(2, 3, 0, 1),
    )  # fmt: skip


def _require_mass(moments: Moments) -> None:
    own = np.einsum("kkaa->k", moments.C2)
    for k, value in enumerate(own):
        if not value > 1e-14 * own.max():
            raise fault(f"{WHAT}: mode {k + 1} moves nothing that has mass ({value:.3g} kg m^2), expected more than 0.")
    M = np.einsum("klaa->kl", moments.C2) / np.sqrt(own) / np.sqrt(own)[:, None]
    if (least := float(np.linalg.eigvalsh(M)[0])) < 1e-10:
        raise fault(
            f"{WHAT}: two or more modes are the same motion (the least eigenvalue of their mass is {least:.2g} of the "
            "largest). Leave out those that follow from others."
        )


def _check_root(x: np.ndarray, shapes: np.ndarray, root: Sequence[int]) -> None:
    """Refuse shapes that move what is clamped: named roots, and nodes at the origin, where the joint is."""
    size = np.linalg.norm(x, axis=1).max()
    for i in dict.fromkeys([*root, *map(int, np.flatnonzero(np.linalg.norm(x, axis=1) <= NEAR * size))]):
        moved = np.linalg.norm(shapes[i], axis=0) / np.maximum(np.linalg.norm(shapes, axis=1).max(axis=0), 1e-300)
        if (worst := int(moved.argmax()), moved.max())[1] > 1e-6:
            raise fault(
                f"{WHAT}: mode {worst + 1} moves node {i}, which is at the joint, by {moved.max():.3g} of its largest "
                "displacement, expected 0: shapes are relative to the body's frame. Use modes of the body clamped "
                f"there: root=[{i}, ...], or move the nodes so that the joint is at the origin."
            )


def _mass(mass: Any, n: int) -> Any:
    given = mass if hasattr(mass, "toarray") else np.asarray(mass, dtype=float)
    if given.ndim == 1:
        found = _array(given, "mass", (n,))
        if (found < 0).any() or not found.any():
            raise fault(f"{WHAT}: mass has {found.min():.6g}, expected masses of nodes, none below 0 and not all 0.")
        return found
    M = square_symmetric(given, "mass")
    if not abs(M).max() > 0:
        raise fault(f"{WHAT}: mass is 0 everywhere, expected the mass matrix of the elements.")
    if M.shape[0] not in (3 * n, 6 * n):
        raise fault(f"{WHAT}: mass has {M.shape[0]} rows, expected {n}, {3 * n} or {6 * n} for {n} nodes.")
    return M


def _spread(masses: np.ndarray, sparse: bool) -> Any:
    """The matrix of masses of nodes."""
    if not sparse:
        return np.diag(np.repeat(masses, 3))
    from scipy.sparse import diags

    return diags(np.repeat(masses, 3)).tocsr()


def _second(second: Any, n: int, many: int) -> np.ndarray:
    g = _array(second, "second", (n, 3, many, many))
    if np.abs(g - g.swapaxes(2, 3)).max() > 1e-9 * max(np.abs(g).max(), 1e-300):
        raise fault(f"{WHAT}: second is not symmetric in the modes, expected second[i, a, k, l] = second[i, a, l, k].")
    return g


def _array(values: Any, name: str, shape: Sequence[int | None]) -> np.ndarray:
    try:
        found = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise fault(f"{WHAT}: {name} is {values!r:.60}, expected numbers.") from None
    fits = found.ndim == len(shape) and all(b is None or a == b for a, b in zip(found.shape, shape, strict=True))
    if not fits or not found.size:
        wanted = ", ".join("any" if b is None else str(b) for b in shape)
        raise fault(f"{WHAT}: {name} has shape {found.shape}, expected ({wanted}).")
    if not np.isfinite(found).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(found))[0])
        raise fault(f"{WHAT}: {name}{list(where)} is {found[where]}, expected finite numbers.")
    return found


def _members(given: Any, n: int, what: str) -> tuple[int, ...]:
    if not isinstance(given, (int, np.integer, Iterable)) or isinstance(given, str):
        raise fault(f"{WHAT}: {what} is {given!r:.60}, expected numbers of nodes, 0 to {n - 1}.")
    found = [given] if isinstance(given, (int, np.integer)) else list(given)
    for i in found:
        if isinstance(i, bool) or not isinstance(i, (int, np.integer)) or not 0 <= i < n:
            raise fault(f"{WHAT}: {what} has {i!r:.40}, expected numbers of nodes, 0 to {n - 1}.")
    if len({*found}) < len(found) or (not found and what != "root"):
        raise fault(f"{WHAT}: {what} is {given!r:.60}, expected one node or more, each once.")
    return tuple(int(i) for i in found)


def _edges(edges: Any, n: int) -> tuple[tuple[int, int], ...]:
    found = np.asarray(edges, dtype=int).reshape(-1, 2) if len(edges) else np.zeros((0, 2), dtype=int)
    if found.size and (found.min() < 0 or found.max() >= n):
        raise fault(
            f"{WHAT}: edges have node {found.min() if found.min() < 0 else found.max()}, expected 0 to {n - 1}."
        )
    return tuple((int(a), int(b)) for a, b in found)
