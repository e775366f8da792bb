"""Every method in speeds of the analyst's choice and with constraints embedded: projected terms against Kane's.

"kane" puts the speeds into the velocities before it differentiates them; "poincare", "denoc" and "lagrange" know
nothing of them and are projected: M' = G^T M G. Compared are M, the velocity terms with the part of G_dot, gravity,
forces, and the recursion of "denoc", each with Kane's own; M and forces of "poincare" and "denoc" are one function
(test_sources.py watches that no other is shared). G itself, and which rows and speeds are independent, are shared.
"""

import random

import numpy as np
import pytest

import polhode as ph
from polhode.formulations import denoc, lagrange, poincare
from polhode.formulations.projection import projected
from polhode.graph import vector
from polhode.kinematics import derive, generalised
from polhode.model.grow import HOLONOMIC
from tests.identities.test_kane_identities import constrained, tree
from tests.mechanics import At, close, random_state
from tests.mechanisms import four_bar, squeezer

PROJECTED = ("poincare", "denoc", "lagrange")


def chosen(model, seed, timed):
    """Speeds that mix those of the model by functions of the coordinates, and of time."""
    draw = random.Random(seed)
    q, v = ([ph.symbol(name) for name in names] for names in (model.coordinates, model.speeds))
    mixed = [e * (2 + ph.cos(draw.choice(q))) + v[i - 1] * ph.sin(draw.choice(q)) / 2 for i, e in enumerate(v) if i]
    rest = ph.sin(ph.TIME) * draw.choice(q) if timed else 0
    return {f"s{i}": e for i, e in enumerate([v[0] * 3 + rest, *mixed])}


def agree(ours, theirs, q, u, C=True):
    at = At(theirs, q, u)
    assert ours.u == theirs.u
    for term in ("M", "c", "Q", "gravity", "velocity_terms", "N"):
        assert close(at(getattr(ours, term)), at(getattr(theirs, term)), 1e-8), term
    assert close(at(ours.kinematics.q_dot), at(theirs.kinematics.q_dot))
    assert close([at(ours.kinetic), at(ours.potential)], [at(theirs.kinetic), at(theirs.potential)])
    if C:
        assert close(at(ours.C) @ u, at(theirs.velocity_terms), 1e-8)
    if ours.terms.inverse is not None:
        udot = vector(ph.symbols([f"a{i}" for i in range(len(u))]))
        at.values[udot] = rates = list(np.random.default_rng(1).normal(size=len(u)))
        assert close(at(ours.terms.inverse(udot)), at(theirs.M) @ rates + at(theirs.c), 1e-8)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("timed", [False, True])
def test_chosen_speeds(seed, timed):
    model = tree(seed, HOLONOMIC, 2)
    speeds = chosen(model, seed, timed)
    kane = ph.formulate(model, method="kane", speeds=speeds)
    state = random_state(kane, seed)
    for method in PROJECTED:
        agree(ph.formulate(model, method=method, speeds=speeds), kane, *state, C=not timed)


@pytest.mark.parametrize("seed", range(12))
def test_embedded_constraints(seed):
    model, q = constrained(seed)
    kane = ph.formulate(model, method="kane", embed=True)
    u = np.random.default_rng(seed).uniform(-1, 1, len(kane.u))
    still = all(e == 0 for e in kane.kinematics.drift)
    for method in ("poincare", "denoc"):
        ours = ph.formulate(model, method=method, embed=True)
        agree(ours, kane, q, u, C=still)
        assert ours.kane.repeated == kane.kane.repeated
        assert len(ours.constraints) == 0


@pytest.mark.parametrize("method", PROJECTED)
def test_some_constraints_embedded_the_others_open(method):
    """Rows that stay are those of Kane's, in the same speeds."""
    model = squeezer()
    options = {"embed": ["E K3", "E K4"]}
    ours, kane = (ph.formulate(model, method=name, **options) for name in (method, "kane"))
    q, u = random_state(kane, 2)
    agree(ours, kane, q, u)
    assert ours.constraints.names == kane.constraints.names == ("E K6",) * 3
    assert close(At(ours, q, u)(ours.constraints.J), At(kane, q, u)(kane.constraints.J))
    assert close(At(ours, q, u)(ours.constraints.gamma), At(kane, q, u)(kane.constraints.gamma), 1e-8)
    assert [c.name for c in ours.kinematics.model.constraints] == ["E K3", "E K4", "E K6"]  # the model stays as it is


@pytest.mark.parametrize("method", PROJECTED)
def test_a_four_bar_moves_alike_by_every_method(method):
    options = {"embed": True, "independent": ["a_dot"]}
    kane = ph.formulate(four_bar(), **options)
    ours = ph.formulate(four_bar(), method=method, **options)
    agree(ours, kane, [-1.0, 1.3, -0.7], [1.5])
    dyn, other = ours.compile(), kane.compile()
    start = ph.assemble(other, {"a": -1.0, "b": 1.0, "c": -1.0}, {"a_dot": 2.0}, keep=["a", "a_dot"])
    ends = [ph.simulate(d, *start, t_end=0.2).q[-1] for d in (dyn, other)]
    assert close(*ends, 1e-8)


def test_rates_of_angles_start_from_the_models_own_names():
    """The speeds of a ball joint are no rates, so a definition in them means something else to Lagrange."""
    build = ph.Builder()
    build.body("top", joint=ph.spherical(name="b"), mass=1, com=(0, 0, 1), inertia=(1, 2, 2.5))
    model = build.build()
    names = {f"s{i}": ph.symbol(name) * (i + 1) for i, name in enumerate(model.speeds)}
    kane = ph.formulate(model, method="kane", speeds=names)
    agree(ph.formulate(model, method="lagrange", speeds=names), kane, [0.3, 0.4, -0.2], [0.7, -0.5, 0.9])


def test_terms_of_other_kinematics_are_refused():
    model = four_bar()
    kin = generalised(derive(model), None, True)
    for formulation in (poincare, denoc, lagrange):
        with pytest.raises(ValueError, match="Derive both from one Kinematics"):
            projected(formulation.terms(derive(model, rates=formulation is lagrange)), kin)
        with pytest.raises((AttributeError, ValueError)):  # links are those of the joints, and only theirs
            formulation.terms(kin).mass()
