"""What must hold for machines with bodies that deform, on trees of beams grown from a seed."""

import numpy as np
import pytest

import polhode as ph
from polhode.formulations.denoc import articulated
from polhode.kinematics import reduced
from polhode.model.grow import HOLONOMIC, grow
from tests.mechanics import At, close, random_state

OTHERS = ("denoc", "kane", "quasicoordinate", "book")


def tree(seed, forces=True, many=None, **options):
    """Two or three bodies, half of them beams."""
    draw = np.random.default_rng(seed)
    kinds = [str(kind) for kind in draw.choice(sorted(HOLONOMIC), many or 2 + seed % 2)]
    return grow(seed, kinds, forces=forces, flexible=0.5, **options)


def at_random(model, seed, method="poincare"):
    eq = ph.formulate(model, method)
    return At(eq, *random_state(eq, seed))


def same_equations(seed):
    """All formulations say the same of one tree, the recursions of denoc too.

    M, velocity terms, gravity and forces by each method; accelerations by its own way where it has one; Lagrange's
    are derivatives of the energies, in the rates of the coordinates.
    """
    model = tree(seed, loops=seed % 3 == 0)
    at = at_random(model, seed)
    M, velocity, gravity, Q = (at(part) for part in (at.eq.M, at.eq.velocity_terms, at.eq.gravity, at.eq.Q))
    draw = np.random.default_rng(seed)
    tau, udot = draw.normal(size=len(at.u)), draw.normal(size=len(at.u))
    size = np.abs(np.diag(M)).max()
    found = np.linalg.solve(M, Q + tau - velocity - gravity)
    inputs = ph.vector(ph.symbols([f"input{i}" for i in range(len(tau))]))
    for method in OTHERS:
        eq = ph.formulate(model, method, embed=False)
        other = At(eq, at.q, at.u, {inputs: list(udot)})
        assert close(other(eq.M), M, 1e-9)
        assert close(other(eq.velocity_terms), velocity, 1e-9)
        assert close(other(eq.gravity), gravity, 1e-9)
        assert close(other(eq.Q), Q, 1e-9)
        assert close(other(eq.c), velocity + gravity, 1e-9)
        if eq.terms.inverse is not None:
            assert close(other(eq.terms.inverse(inputs)), M @ udot + velocity + gravity, 1e-9)
        other.values[inputs] = list(tau)
        if eq.terms.forward is not None:
            assert close(other(eq.terms.forward(eq.Q + inputs)), found, 1e-9 * max(1, np.linalg.cond(M) / 1e3))
        if method == "denoc":
            for kin in (eq.kinematics, reduced(eq.kinematics)):
                by_bodies = other(articulated(kin, eq.Q + inputs))
                assert close(M @ (by_bodies - found), np.zeros(len(tau)), 1e-9 * size)
        if model.constraints:
            for part in ("phi", "psi", "J", "gamma"):
                assert close(other(getattr(eq.constraints, part)), at(getattr(at.eq.constraints, part)), 1e-9)
    lagrange = ph.formulate(model, "lagrange")
    N, N_dot = at(at.eq.N), at.rate(at.eq.N)
    if np.linalg.cond(N) > 1e3:
        return  # near a singularity of the angles there are no rates to compare
    other = At(lagrange, at.q, at.qdot)
    assert close(N.T @ other(lagrange.M) @ N, M, 1e-9)
    assert close(N.T @ other(lagrange.gravity), gravity, 1e-9)
    assert close(N.T @ other(lagrange.Q), Q, 1e-9)
    assert close(N.T @ (other(lagrange.velocity_terms) + other(lagrange.M) @ N_dot @ at.u), velocity, 1e-9)
    assert close(at(at.eq.kinetic), at.u @ M @ at.u / 2)
    assert close([other(lagrange.kinetic), other(lagrange.potential)], [at(at.eq.kinetic), at(at.eq.potential)])


@pytest.mark.parametrize("seed", range(12))
def test_all_formulations_agree_on_trees_of_beams(seed):
    same_equations(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 112))
def test_all_formulations_agree_on_many_trees_of_beams(seed):
    same_equations(seed)
