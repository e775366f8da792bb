"""Inertias of bodies that deform, against sums over points of mass."""

import numpy as np
import pytest

from polhode.graph import as_expr, evaluate, matrix, symbols, vector
from polhode.spatial import Twist
from polhode.spatial.modal import ModalInertia

RNG = np.random.default_rng(4)
POINTS, MODES = 7, 3
MASS = RNG.uniform(0.5, 1.5, POINTS)
S0 = RNG.normal(size=(POINTS, 3))
PHI = RNG.normal(size=(POINTS, MODES, 3))
G = RNG.normal(size=(POINTS, MODES, MODES, 3))
G = G + G.transpose(0, 2, 1, 3)


def built(second=True):
    """The integrals of points of mass; without the second order where that is asked."""
    g = G * second
    return ModalInertia(
        m=as_expr(float(MASS.sum())),
        h=vector((MASS @ S0).tolist()),
        S=matrix(np.einsum("p,pi,pj->ij", MASS, S0, S0).tolist()),
        P=tuple(vector(row.tolist()) for row in np.einsum("p,pki->ki", MASS, PHI)),
        C1=tuple(matrix(block.tolist()) for block in np.einsum("p,pi,pkj->kij", MASS, S0, PHI)),
        C2=_blocks(np.einsum("p,pki,plj->klij", MASS, PHI, PHI), matrix),
        H2=_blocks(np.einsum("p,pkli->kli", MASS, g), vector),
        G2=_blocks(np.einsum("p,pi,pklj->klij", MASS, S0, g), matrix),
    )


def _blocks(array, kind):
    return tuple(tuple(kind(block.tolist()) for block in row) for row in array)


def places(d):
    return S0 + np.einsum("pki,k->pi", PHI, d) + np.einsum("pkli,k,l->pi", G, d, d) / 2


def slopes(d):
    return PHI + np.einsum("pkli,l->pki", G, d)


def numbers(part):
    return np.array(evaluate(part, {}), dtype=float)


def test_inertia_is_right_to_second_order():
    """The error of h is none, that of the inertia of third order in the amplitudes."""
    direction, errors = RNG.normal(size=MODES), []
    for size in (2e-3, 1e-3):
        d = size * direction
        found = built().at([as_expr(float(x)) for x in d]).inertia
        s = places(d)
        I = np.einsum("p,pk,pk->", MASS, s, s) * np.eye(3) - np.einsum("p,pi,pj->ij", MASS, s, s)
        assert np.allclose(numbers(found.h), MASS @ s, rtol=1e-13)
        errors.append(np.abs(numbers(found.I) - I).max())
    assert errors[0] / errors[1] == pytest.approx(8, rel=0.15)


def test_momenta_are_right_to_first_order():
    direction, errors = RNG.normal(size=MODES), []
    for size in (0.1, 0.05):
        d = size * direction
        found = built().at([as_expr(float(x)) for x in d])
        s, by = places(d), slopes(d)
        turned = np.einsum("p,pki->ki", MASS, np.cross(s[:, None], by))
        wrenches = [numbers(W.vector()) for W in found.momenta]
        assert np.allclose([W[3:] for W in wrenches], np.einsum("p,pki->ki", MASS, by), rtol=1e-13)
        errors.append(np.abs(np.array([W[:3] for W in wrenches]) - turned).max())
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.3)


def test_a_linear_field_is_exact():
    """Energy, and momenta of the body and of its modes, for any amplitudes."""
    d, w, v, rates = RNG.normal(size=MODES), RNG.normal(size=3), RNG.normal(size=3), RNG.normal(size=MODES)
    s = S0 + np.einsum("pki,k->pi", PHI, d)
    speeds = v + np.cross(w, s) + np.einsum("pki,k->pi", PHI, rates)
    body = built(second=False).at([as_expr(float(x)) for x in d])
    V, given = Twist.of([*w.tolist(), *v.tolist()]), [as_expr(float(x)) for x in rates]
    mu, own = body.momentum(V, given)
    assert np.allclose(numbers(mu.n), MASS @ np.cross(s, speeds))
    assert np.allclose(numbers(mu.f), MASS @ speeds)
    assert np.allclose([float(e) for e in own], np.einsum("p,pki,pi->k", MASS, PHI, speeds))
    assert float(body.kinetic(V, given)) == pytest.approx(MASS @ (speeds**2).sum(axis=1) / 2)


@pytest.mark.parametrize("second", [False, True])
def test_what_deforming_needs_is_the_rate_of_the_momenta(second):
    """n = N' + w x N + v x L, f = L' + w x L, d/dt(dT/dd') - dT/dd: by differences of the energy's own momenta."""
    step = 1e-5
    d, w, v, rates = (RNG.normal(size=n) * size for n, size in ((MODES, 0.1), (3, 1), (3, 1), (MODES, 1)))
    w_dot, v_dot, changes = RNG.normal(size=3), RNG.normal(size=3), RNG.normal(size=MODES)
    whole = built(second)

    def momenta(t, d_aside=0.0):
        at = d + rates * t + changes * t * t / 2 + d_aside
        V = Twist.of([*(w + w_dot * t).tolist(), *(v + v_dot * t).tolist()])
        body = whole.at([as_expr(float(x)) for x in at])
        given = [as_expr(float(x)) for x in rates + changes * t]
        mu, own = body.momentum(V, given)
        return np.array([*numbers(mu.vector()), *map(float, own)]), float(body.kinetic(V, given))

    rate = (momenta(step)[0] - momenta(-step)[0]) / (2 * step)
    N, L = momenta(0.0)[0][:3], momenta(0.0)[0][3:6]
    aside = np.eye(MODES) * step
    slope = np.array([momenta(0.0, x)[1] - momenta(0.0, -x)[1] for x in aside]) / (2 * step)
    body = whole.at([as_expr(float(x)) for x in d])
    cross = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    turn = np.array([[0, -w_dot[2], w_dot[1]], [w_dot[2], 0, -w_dot[0]], [-w_dot[1], w_dot[0], 0]])
    S, a = turn + cross @ cross, v_dot + np.cross(w, v)
    given = [vector(w.tolist()), matrix(S.tolist()), vector(a.tolist())]
    given += [[as_expr(float(x)) for x in part] for part in (rates, changes)]
    beside, I, h = body.needed(*given), numbers(body.inertia.I), numbers(body.inertia.h)
    n = I @ w_dot + np.cross(w, I @ w) + np.cross(h, a) + numbers(beside.n)
    f = MASS.sum() * a + S @ h + numbers(beside.f)
    assert np.allclose(n, rate[:3] + np.cross(w, N) + np.cross(v, L), rtol=1e-7, atol=1e-7)
    assert np.allclose(f, rate[3:6] + np.cross(w, L), rtol=1e-7, atol=1e-7)
    assert np.allclose([float(e) for e in body.modal(*given)], rate[6:] - slope, rtol=1e-7, atol=1e-7)


def test_amplitudes_may_be_symbols():
    d = symbols("a b c")
    body = built().at(d)
    value = evaluate(body.inertia.h, dict(zip(d, (0.1, 0.2, 0.3), strict=True)))
    assert np.allclose(np.array(value, dtype=float), MASS @ places(np.array([0.1, 0.2, 0.3])))
