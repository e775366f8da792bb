"""Flexible bodies from arrays: integrals, stations, messages."""

import numpy as np
import pytest

import polhode as ph
from polhode.graph import as_expr, evaluate, symbol, symbols, vector
from polhode.model.nodal import averages
from polhode.model.nodal_moments import of_matrix
from polhode.spatial import Twist

N, L = 41, 2.0
X = np.zeros((N, 3))
X[:, 0] = np.linspace(0, L, N)


def polynomials():
    """A bar with shapes x^2 along y and x^3 along z, and what they shorten: g' = -phi_k'.phi_l'."""
    x = X[:, 0]
    shapes, turned, g = np.zeros((N, 3, 2)), np.zeros((N, 3, 2)), np.zeros((N, 3, 2, 2))
    shapes[:, 1, 0], shapes[:, 2, 1] = x**2, x**3
    turned[:, 2, 0], turned[:, 1, 1] = 2 * x, -3 * x**2
    g[:, 0, 0, 0], g[:, 0, 1, 1] = -4 * x**3 / 3, -9 * x**5 / 5
    return shapes, turned, g


def simpson():
    """Masses at nodes that integrate polynomials nearly exactly, mu = 3."""
    w = np.ones(N)
    w[1:-1:2], w[2:-1:2] = 4, 2
    return 3.0 * w * (L / (N - 1)) / 3


def bar(**change):
    shapes, turned, g = polynomials()
    K = np.array([[8.0, 1.0], [1.0, 90.0]])
    given = {"mass": simpson(), "shapes": shapes, "rotations": turned, "second": g, "stiffness": K}
    return ph.flexible(X, **{**given, **change})


def number(m):
    return np.array([float(e) for e in m.entries]).reshape(m.shape)


def test_integrals_of_polynomials():
    """mu = 3 from 0 to 2: int x^2 = 8/3 and so on."""
    I = bar().inertia
    assert float(I.m) == pytest.approx(6)
    assert number(I.h) == pytest.approx([6, 0, 0])
    assert number(I.S)[0, 0] == pytest.approx(8)
    assert number(I.P[0]) == pytest.approx([0, 8, 0])
    assert number(I.C1[1])[0, 2] == pytest.approx(3 * 32 / 5, rel=1e-5)
    assert number(I.C2[0][0])[1, 1] == pytest.approx(3 * 32 / 5, rel=1e-5)
    assert number(I.C2[0][1])[1, 2] == pytest.approx(3 * 64 / 6, rel=1e-5)
    assert I.C2[1][0] == I.C2[0][1].T
    assert number(I.H2[0][0])[0] == pytest.approx(-4 * 16 / 4, rel=1e-5)
    assert number(I.G2[1][1])[0, 0] == pytest.approx(-27 / 5 * 2**7 / 7, rel=1e-4)
    assert not any(number(bar(order="full").inertia.G2[1][1]).flat)


def test_deformed_body_is_that_of_moved_points():
    """The momentum of the points, moved and summed one by one, against that of the integrals."""
    arm = bar()
    d, rates = np.array([0.03, -0.02]), np.array([0.4, 0.7])
    w, v = np.array([0.3, -0.5, 0.8]), np.array([1.0, 2.0, -0.5])
    # a linear field, so that no order is left out
    linear = bar(order="full")
    p = arm.nodes + arm.shapes @ d
    speed = v + np.cross(w, p) + arm.shapes @ rates
    kinetic = simpson() @ (speed**2).sum(axis=1) / 2
    e = [as_expr(x) for x in d]
    body = linear.inertia.at(e)
    found = body.kinetic(Twist(vector(w.tolist()), vector(v.tolist())), [as_expr(x) for x in rates])
    assert float(found) == pytest.approx(kinetic, rel=1e-12)


def test_a_mass_matrix_of_a_bar_of_solids_is_exact():
    """Linear elements whose mass is m (x) 1: integrals of s0, phi and their products as by quadrature."""
    n = 5
    x = np.linspace(0, 1, n)
    m = np.zeros((n, n))
    for i in range(n - 1):
        m[i : i + 2, i : i + 2] += (x[1] - x[0]) / 6 * np.array([[2, 1], [1, 2]])
    nodes = np.column_stack([x, 0.1 * x, 0 * x])
    draw = np.random.default_rng(0)
    shapes = draw.normal(size=(n, 3, 2)) * x[:, None, None]
    body = ph.flexible(
        nodes,
        mass=np.kron(m, np.eye(3)),
        shapes=shapes,
        rotations=np.zeros((n, 3, 2)),
        stiffness=np.eye(2),
        order="full",
    )
    at, weight = np.polynomial.legendre.leggauss(2)
    S, C1, C2 = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    for i in range(n - 1):
        for t, c in zip((at + 1) / 2, weight / 2 * (x[1] - x[0]), strict=True):
            s = nodes[i] * (1 - t) + nodes[i + 1] * t
            phi = shapes[i] * (1 - t) + shapes[i + 1] * t
            S += c * np.outer(s, s)
            C1 += c * np.outer(s, phi[:, 1])
            C2 += c * np.outer(phi[:, 0], phi[:, 1])
    assert pytest.approx(S, abs=1e-12) == body.moments.S
    assert body.moments.C1[1] == pytest.approx(C1, abs=1e-12)
    assert body.moments.C2[0, 1] == pytest.approx(C2, abs=1e-12)
    assert body.moments.h == pytest.approx([0.5, 0.05, 0], abs=1e-12)
    # a second order that is a field of the elements like any shape
    bent = of_matrix(np.kron(m, np.eye(3)), nodes, shapes, shapes[:, :, :1, None] * np.ones((2, 2)))
    assert bent.H2[0, 1] == pytest.approx(body.moments.P[0], abs=1e-12)
    assert bent.G2[0, 1] == pytest.approx(body.moments.C1[0], abs=1e-12)


def test_stations_are_nodes_and_interfaces():
    arm = bar(interfaces={"pair": [N - 1, N - 2]})
    tip = arm.station(vector([2, 0, 0]), "Marker 'tip'")
    assert number(tip.Phi) == pytest.approx(np.array([[0, 0], [4, 0], [0, 8]]))
    assert number(tip.Psi) == pytest.approx(np.array([[0, 0], [0, -12], [4, 0]]))
    assert number(tip.g[0][0]) == pytest.approx([-32 / 3, 0, 0])
    assert arm.station(vector([0, 0, 0]), "x").still
    assert arm.root.still
    mean = arm.station(vector(arm.places["pair"]), "x")
    assert number(mean.Phi)[1, 0] == pytest.approx((4 + 1.95**2) / 2)
    assert number(mean.Psi)[2, 0] == pytest.approx((4 - 1.95**2) / 0.05)
    assert bar(order="full").station(vector([2, 0, 0]), "x").g == ()


def test_points_that_are_no_nodes_say_which_are_near():
    arm = bar(interfaces={"tip": N - 1})
    with pytest.raises(
        ph.ModelError, match=r"Marker 'm': no node .* \(1\.98, 0, 0\).*'tip' at \(2, 0, 0\).*node 40 at"
    ):
        arm.station(vector([1.98, 0, 0]), "Marker 'm'")
    with pytest.raises(ph.ModelError, match=r"expected numbers. Parameters move no nodes"):
        arm.station(vector([symbol("a"), 0, 0]), "Marker 'm'")


def test_rotations_from_neighbours():
    """Without rotations of their own, nodes turn with those that edges lead to; a rigid turn exactly."""
    draw = np.random.default_rng(4)
    nodes = draw.normal(size=(6, 3))
    nodes[0] = 0
    w = np.array([0.3, -0.2, 0.5])
    shapes = np.cross(w, nodes)[:, :, None]
    given = {"mass": np.ones(6), "shapes": shapes, "stiffness": [[1.0]], "order": "full"}
    body = ph.flexible(nodes, edges=[(1, 2), (1, 3), (1, 4)], **given)
    assert body.rotations[1, :, 0] == pytest.approx(w)
    with pytest.raises(ph.ModelError, match=r"node 5 .* has no rotation that is known.*give rotations= or edges="):
        body.station(vector(nodes[5].tolist()), "Body 'hand'")


def test_averages_of_a_rigid_motion_are_it():
    draw = np.random.default_rng(5)
    nodes, v, w = draw.normal(size=(7, 3)), draw.normal(size=3), draw.normal(size=3)
    moved = v + np.cross(w, nodes - nodes.mean(axis=0))
    assert np.einsum("rna,na->r", averages(nodes), moved) == pytest.approx([*v, *w])


def test_damping_ratios():
    arm = bar(damping=[0.01, 0.03])
    M, K, D = np.einsum("klaa->kl", arm.moments.C2), arm.rigidity, arm.losses
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    found = np.linalg.eigvals(A)
    ratios = sorted(-found.real / np.abs(found))[::2]
    assert ratios == pytest.approx([0.01, 0.03])
    assert bar(damping=np.eye(2)).losses == pytest.approx(np.eye(2))


def test_geometric_stiffness_is_the_second_order():
    arm = bar()
    A, W = arm.moments.H2.transpose(2, 0, 1), arm.moments.G2.transpose(2, 3, 0, 1)
    other = bar(second=None, geometric=(A, W))
    assert other.inertia == arm.inertia
    assert other.station(vector([2, 0, 0]), "x").g == ()


def test_lines_are_chains_and_bounded():
    arm = bar(edges=[(i, i + 1) for i in range(N - 1)])
    assert [len(line) for line in arm.lines] == [N]
    assert [[tuple(map(float, s.p.entries)) for s in line] for line in bar().lines] == [[(0, 0, 0), (2, 0, 0)]]
    many = bar(edges=[(i, j) for i in range(N) for j in range(i)])
    assert 10 < sum(map(len, many.lines)) <= 500


def test_bodies_are_equal_where_their_arrays_are():
    assert bar() == bar()
    assert hash(bar()) == hash(bar())
    assert bar() != bar(damping=0.1)
    assert bar() != bar(order="full")


def test_modes_of_one_frequency_are_along_the_axes():
    """A square bar has any mixture of its bending modes: those along y and z are chosen."""
    frame = ph.Frame({"a": (0, 0, 0), "b": (1, 0, 0)})
    frame.beam("a", "b", EA=1e6, EI_y=1.0, EI_z=1.0, GJ=1.0, mu=1.0)
    arm = frame.flexible(root="a", modes=4)
    tip = arm.shapes[1]
    assert np.abs(tip) == pytest.approx(np.array([[0] * 4, [1, 0, 1, 0], [0, 1, 0, 1]]), abs=1e-9) or np.abs(
        tip
    ) == pytest.approx(np.array([[0] * 4, [0, 1, 0, 1], [1, 0, 1, 0]]), abs=1e-9)


def test_twists_are_angles():
    frame = ph.Frame({"a": (0, 0, 0), "b": (1, 0, 0)})
    frame.beam("a", "b", EA=1e6, EI_y=1.0, EI_z=1.5, GJ=0.02, mu=1.0, radii=(0.1, 0.1))
    arm = frame.flexible(root="a", modes=1)
    assert arm.units == ("rad",)
    assert arm.rotations[1, 0, 0] == pytest.approx(1)
    assert arm.frequencies[0] == pytest.approx(np.pi / 2 * np.sqrt(0.02 / 0.02), rel=2e-3)


moving = polynomials()[0] + 0.5
empty = polynomials()[0] * [1, 0]
unknown = polynomials()[0]
unknown[7, 1, 0] = np.nan


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mass": np.ones(7)}, r"mass has shape \(7,\), expected \(41\)"),
        ({"mass": -simpson()}, "expected masses of nodes, none below 0"),
        ({"mass": np.eye(100)}, "mass has 100 rows, expected 41, 123 or 246"),
        ({"mass": np.eye(246), "rotations": None}, "the shapes have none. Give rotations="),
        (
            {"shapes": moving},
            "mode 1 moves node 0, which is at the joint, by .* shapes are relative to the body's frame",
        ),
        ({"shapes": empty}, "mode 2 moves nothing that has mass"),
        ({"shapes": polynomials()[0][:, :, [0, 0]]}, "modes are the same motion"),
        ({"shapes": unknown}, r"shapes\[7, 1, 0\] is nan"),
        ({"shapes": X}, r"shapes has shape \(41, 3\), expected \(41, 3, any\)"),
        ({"rotations": X}, r"expected \(41, 3, 2\)"),
        ({"shapes": None}, "give either modes=, how many to find, or shapes="),
        ({"modes": 3}, "give either modes="),
        ({"stiffness": np.diag([1.0, -2.0])}, "stiffness is negative along one mode"),
        ({"stiffness": [[1.0, 2.0], [0.0, 1.0]]}, "not symmetric"),
        ({"stiffness": np.eye(3)}, r"stiffness has shape \(3, 3\), expected \(2, 2\)"),
        ({"second": None}, 'order="first" needs the second order.*Give second= or geometric=, or order="full"'),
        ({"second": np.arange(N * 12.0).reshape(N, 3, 2, 2)}, "second is not symmetric in the modes"),
        ({"damping": -0.1}, "damping is -0.1, expected ratios of 0 or more"),
        ({"damping": [0.1] * 3}, "expected a ratio, 2 ratios, or 2 x 2"),
        ({"order": "third"}, "order is 'third', expected one of 'first', 'second', 'full', 'paper'"),
        ({"second": None, "order": "second"}, 'order="second" needs second=.*order="first" with geometric='),
        ({"rotation": "small"}, "rotation is 'small'"),
        ({"interfaces": {"tip": [41]}}, "interface 'tip' has 41, expected numbers of nodes, 0 to 40"),
        ({"interfaces": {"tip": [3, 3]}}, "interface 'tip' is .*each once"),
        ({"edges": [(0, 50)]}, "edges have node 50"),
    ],
)
def test_faults(change, words):
    with pytest.raises(ph.ModelError, match=words):
        bar(**change)


def test_faults_of_what_is_to_be_reduced():
    frame = ph.Frame({"a": (0, 0, 0), "b": (1, 0, 0)})
    frame.beam("a", "b", EA=1e6, EI_y=1.0, EI_z=1.0, GJ=1.0, mu=1.0, elements=3)
    x, M, K = frame.matrices()
    assert ph.flexible(x, mass=M, stiffness=K, modes=2, root=[0], order="full").frequencies[0] == pytest.approx(
        3.516, rel=1e-3
    )
    for change, words in (
        ({"root": []}, "no root. Give root="),
        ({"root": [9]}, "root has 9, expected numbers of nodes, 0 to 3"),
        ({"root": None}, "root is None, expected numbers of nodes, 0 to 3"),
        ({"root": [3]}, r"mode 1 moves node 0, which is at the joint.*root=\[0, ...\], or move the nodes"),
        ({"interfaces": [3]}, r"interfaces is \[3\], expected names with nodes"),
        ({"mass": 0 * M}, "mass is 0 everywhere"),
        ({"damping": "x"}, "damping is 'x', expected a ratio"),
        ({"stiffness": K[:12, :12]}, r"stiffness has shape \(12, 12\), expected that of the mass, \(24, 24\)"),
        ({"keep": 0}, "keep is 0"),
        ({"second": x}, "belong to shapes="),
        ({"stiffness": K - 1e3 * np.eye(24)}, "negative along one direction"),
    ):
        with pytest.raises(ph.ModelError, match=words):
            ph.flexible(x, **{"mass": M, "stiffness": K, "modes": 2, "root": [0], "order": "full", **change})


def test_evaluated_station_moves_as_said():
    """p + Phi d + g d d / 2 by expressions."""
    arm = bar()
    tip = arm.station(vector([2, 0, 0]), "x")
    d = symbols("d1 d2")
    p = tip.p + tip.Phi @ vector(d)
    for k in range(2):
        for l in range(2):
            p = p + tip.g[k][l] * (d[k] * d[l] / 2)
    found = evaluate(p, dict(zip(d, (0.01, 0.02), strict=True)))
    assert found == pytest.approx([2 - 0.5 * (32 / 3 * 1e-4 + 9 * 32 / 5 * 4e-4), 0.04, 0.16])
