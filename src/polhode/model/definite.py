"""How far a body of order "first" may bend before its inertia is no longer positive along every motion.

To first order its kinetic energy is truncated. On a hinge without a hub, clamped shapes that bend and a frame that
turns back are nearly one motion, with little inertia between them; what is left out can be more than that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polhode.graph import Expr, Matrix, evaluate, free_symbols
from polhode.spatial import Inertia

from .body import Body

FAR = 0.1  # of the length of a body: deflections are small below
_STEPS = 50
REMEDY = 'Give it order="second", a hub with inertia, or, for a beam on a hinge, ends="pinned-pinned".'


def bending_limit(body: Body) -> float | None:
    """The least bending, in lengths of the body, at which its inertia is not definite; None where it is up to FAR.

    Along each mode of the clamped body, as far as the energy goes that bends the softest one by FAR. M is that of the
    speeds of its joint and of its modes, a hub counted in, and nothing that it carries. None also where symbols leave
    open how heavy a hub is.
    """
    flexible = body.flexible
    if flexible is None or flexible.order != "first" or not flexible.modes:
        return None
    symbols = free_symbols([*body.quantities(), flexible.length])
    if symbols and body.total != Inertia.zero():
        return None
    own = _Numbers.of(body, dict.fromkeys(symbols, 1.0))
    furthest = own.directions()
    for t in np.linspace(0, 1, _STEPS + 1)[1:]:
        for d in furthest:
            if not (own.definite(t * d) and own.definite(-t * d)):
                return float(t * own.bending(d))
    return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Numbers:
    """The constants of a body as arrays.

    motions : (6 + m, nu + m), twists of the frame and rates of the modes by the speeds of joint and modes
    shapes  : (s, 3, m), displacements of sections by amplitudes of 1, in lengths
    K       : (m, m)
    """

    parts: dict[str, np.ndarray]
    hub: np.ndarray
    motions: np.ndarray
    armature: np.ndarray
    shapes: np.ndarray
    K: np.ndarray

    @classmethod
    def of(cls, body: Body, known: dict[Expr, float]) -> _Numbers:
        flexible, hub = body.flexible, body.total
        assert flexible is not None
        I = flexible.inertia

        def number(e: Matrix | Expr) -> np.ndarray:
            return np.asarray(evaluate(e, known), dtype=float)

        parts = {name: number(getattr(I, name)) for name in ("m", "h", "S")}
        parts |= {name: np.array([number(e) for e in getattr(I, name)]) for name in ("P", "C1")}
        parts |= {name: np.array([[number(e) for e in row] for row in getattr(I, name)]) for name in ("C2", "H2", "G2")}
        m, H = len(I.P), [number(part.H) for part in body.joint.parts]
        nu = sum(h.shape[1] for h in H)
        motions = np.zeros((6 + m, nu + m))
        motions[:6, :nu] = np.concatenate([np.zeros((6, 0)), *H], axis=1)
        motions[6:, nu:] = np.eye(m)
        root = flexible.root  # which the joint holds: the frame moves instead
        p, Phi, Psi = number(root.p), number(root.Phi), number(root.Psi)
        motions[:3, nu:], motions[3:6, nu:] = -Psi, -Phi + np.cross(Psi.T, p).T
        stations = [number(s.Phi) for line in flexible.lines for s in line]
        return cls(
            parts=parts,
            hub=_six(float(number(hub.m)), number(hub.h), number(hub.I)),
            motions=motions,
            armature=np.concatenate([[float(number(a)) for a in body.joint.armature], np.zeros(m)]),
            shapes=np.array(stations).reshape(-1, 3, m) / float(number(flexible.length)),
            K=number(flexible.stiffness),
        )

    def directions(self) -> list[np.ndarray]:
        """Amplitudes of the modes of the clamped body, of one energy."""
        L = np.linalg.inv(np.linalg.cholesky(np.einsum("klaa->kl", self.parts["C2"])))
        squares, y = np.linalg.eigh(L @ self.K @ L.T)
        kept = squares > 1e-12 * squares[-1]
        found = list((L.T @ y[:, kept] / np.sqrt(squares[kept])).T)
        largest = max(map(self.bending, found), default=0.0)
        return [d * (FAR / largest) for d in found] if largest > 0 else []

    def bending(self, d: np.ndarray) -> float:
        """The largest displacement, in lengths."""
        return float(np.linalg.norm(self.shapes @ d, axis=1).max(initial=0.0))

    def definite(self, d: np.ndarray) -> bool:
        """Whether the inertia is, at amplitudes d; see `spatial.modal.ModalInertia.at`."""
        x = self.parts
        P = x["P"] + np.einsum("klc,l->kc", x["H2"], d)
        D = x["C1"] + np.einsum("lkab,l->kab", x["C2"], d) + np.einsum("klab,l->kab", x["G2"], d)
        h = x["h"] + d @ (x["P"] + P) / 2
        half = np.einsum("k,kab->ab", d, x["C1"] + D) / 2
        S = x["S"] + half + half.T
        B = np.stack([D[:, 1, 2] - D[:, 2, 1], D[:, 2, 0] - D[:, 0, 2], D[:, 0, 1] - D[:, 1, 0]], axis=1)
        whole = np.zeros((6 + len(P),) * 2)
        whole[:6, :6] = _six(float(x["m"]), h, np.trace(S) * np.eye(3) - S) + self.hub
        whole[6:, 6:] = np.einsum("klaa->kl", x["C2"])
        whole[6:, :6] = np.concatenate([B, P], axis=1)
        whole[:6, 6:] = whole[6:, :6].T
        M = self.motions.T @ whole @ self.motions + np.diag(self.armature)
        sizes = np.sqrt(np.abs(np.diag(M)))
        kept = sizes > 0
        scaled = M[np.ix_(kept, kept)] / sizes[kept] / sizes[kept, None]
        return bool(np.linalg.eigvalsh(scaled)[0] > 0)


def _six(m: float, h: np.ndarray, I: np.ndarray) -> np.ndarray:
    """[I, skew(h); -skew(h), m 1]."""
    across = np.cross(h, np.eye(3)).T
    return np.block([[I, across], [-across, m * np.eye(3)]])
