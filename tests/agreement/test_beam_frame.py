"""One bar by closed shapes and by finite elements: the same frequencies, integrals and motion."""

import numpy as np
import pytest

import polhode as ph

L, MU, EI_Y, EI_Z = 1.5, 0.8, 600.0, 900.0


def closed():
    return ph.beam(length=L, mu=MU, EI_y=EI_Y, EI_z=EI_Z, modes=2)


def meshed():
    frame = ph.Frame({"root": (0, 0, 0), "tip": (L, 0, 0)})
    frame.beam("root", "tip", EA=1e9, EI_y=EI_Y, EI_z=EI_Z, GJ=2e4, mu=MU, elements=24)
    return frame.flexible(root="root", modes=4)


def number(m):
    return np.array([float(e) for e in m.entries]).reshape(m.shape)


def paired():
    """Modes of both with the factor from one to the other, by frequency: z1, y1, z2, y2."""
    beam, frame = closed(), meshed()
    order = [beam.modes.index(name) for name in ("z1", "y1", "z2", "y2")]
    tip = np.array([L, 0, 0])
    ours = number(beam.station(ph.vector(tip.tolist()), "x").Phi)[:, order]
    other = number(frame.station(ph.vector(tip.tolist()), "x").Phi)
    axis = [2, 1, 2, 1]
    return beam, frame, order, np.array([ours[a, k] / other[a, k] for k, a in enumerate(axis)])


def test_integrals_agree():
    beam, frame, order, scale = paired()
    A, B = beam.inertia, frame.inertia
    for k, i in enumerate(order):
        assert number(A.P[i]) == pytest.approx(scale[k] * number(B.P[k]), abs=1e-3)
        assert number(A.C1[i]) == pytest.approx(scale[k] * number(B.C1[k]), abs=1e-3)
        for l, j in enumerate(order):
            both = scale[k] * scale[l]
            large = np.abs(number(A.G2[i][i])).max()
            assert number(A.C2[i][j]) == pytest.approx(both * number(B.C2[k][l]), abs=2e-3)
            assert number(A.H2[i][j]) == pytest.approx(both * number(B.H2[k][l]), abs=2e-3 * large)
            assert number(A.G2[i][j]) == pytest.approx(both * number(B.G2[k][l]), abs=2e-3 * large)
    stiff = number(beam.stiffness)[np.ix_(order, order)]
    assert stiff == pytest.approx(number(frame.stiffness) * np.outer(scale, scale), rel=2e-3, abs=0.1)


def test_motions_agree():
    """An arm that is thrown round with a load at its tip: angles and load by both, of order first."""
    found = []
    for body in (closed(), meshed()):
        build = ph.Builder("arm")
        build.body("arm", joint=ph.revolute("z", name="a"), mass=1, inertia=(0.1, 0.1, 0.1), flexible=body)
        build.body("load", parent="arm", at=(L, 0, 0), joint=ph.revolute("y", name="b"), mass=0.2, com=(0.1, 0, 0))
        dyn = ph.formulate(build.build()).compile()
        traj = ph.simulate(dyn, {"b": 0.3}, {"a_dot": 1.5}, 0.5, rtol=1e-8, atol=1e-10)
        names = build.build().coordinates
        found.append([traj.q[-1, names.index(name)] for name in ("a", "b")])
    assert found[0] == pytest.approx(found[1], abs=2e-4)
    assert abs(found[0][1] - 0.3) > 0.05
