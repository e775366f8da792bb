"""Frames of beams: their matrices, modes and second order against closed forms and against points that are moved."""

import numpy as np
import pytest

import polhode as ph
from polhode.model.beam_element import BeamElement
from polhode.model.nodal_moments import of_matrix

SECTION = {"EA": 7e6, "EI_y": 60.0, "EI_z": 50.0, "GJ": 45.0, "mu": 0.27}


def angled(radii=(0.0, 0.0), elements=4, inertia=(0.002, 0.003, 0.004), **options):
    frame = ph.Frame({"hub": (0.3, -1, 2), "elbow": (1.3, -1, 2), "tip": (1.3, -0.5, 2.2), "ear": (0.9, -1, 3)})
    frame.beam("hub", "elbow", **SECTION, radii=radii, elements=elements)
    frame.beam("tip", "elbow", **SECTION, radii=radii, elements=elements)  # towards the root, on purpose
    frame.beam("elbow", "ear", **SECTION, radii=radii, elements=elements)
    frame.mass("tip", 0.5, inertia=inertia)
    return frame, frame.flexible(root="hub", **options)


def test_element_matrices_are_those_of_textbooks():
    """Przemieniecki's consistent mass of bending in one plane, and of stretch."""
    L, mu = 0.7, 2.0
    element = BeamElement(i=0, j=1, length=L, R=np.eye(3), mu=mu, EA=5.0, EI_y=3.0, EI_z=4.0, GJ=2.0, radii=(0.0, 0.0))
    mass, at, _ = element.points()
    u = element.field(at)[0]
    M = np.einsum("q,qax,qay->xy", mass, u, u)
    y = [1, 5, 7, 11]
    expected = np.array([
        [156, 22 * L, 54, -13 * L],
        [22 * L, 4 * L**2, 13 * L, -3 * L**2],
        [54, 13 * L, 156, -22 * L],
        [-13 * L, -3 * L**2, -22 * L, 4 * L**2],
    ]) * mu * L / 420  # fmt: skip
    assert M[np.ix_(y, y)] == pytest.approx(expected, rel=1e-12)
    assert M[np.ix_([0, 6], [0, 6])] == pytest.approx(mu * L / 6 * np.array([[2, 1], [1, 2]]), rel=1e-12)
    # stiffness: the curvatures and twists of the field, integrated
    x, weight = np.polynomial.legendre.leggauss(3)
    _, _, bent = element.field((x + 1) / 2)
    K = np.einsum("q,qax,a,qay->xy", weight * L / 2, bent, [2.0, 3.0, 4.0], bent)
    K[np.ix_([0, 6], [0, 6])] += 5.0 / L * np.array([[1, -1], [-1, 1]])
    assert element.stiffness() == pytest.approx(K, rel=1e-9, abs=1e-9)


def test_rigid_motions_cost_no_energy_and_weigh_as_rigid_bodies():
    frame, _ = angled(radii=(0.02, 0.03))
    x, M, K = frame.matrices()
    rigid = np.zeros((len(x), 6, 6))
    rigid[:, :3, :3] = np.eye(3)
    rigid[:, 3:, 3:] = np.eye(3)
    for a in range(3):
        rigid[:, :3, 3 + a] = np.cross(np.eye(3)[a], x)
    rigid = rigid.reshape(-1, 6)
    assert np.abs(K @ rigid).max() < 1e-9 * np.abs(K).max()
    six = rigid.T @ M @ rigid
    length = 1 + np.hypot(0.5, 0.2) + np.hypot(0.4, 1)
    assert six[:3, :3] == pytest.approx((0.27 * length + 0.5) * np.eye(3), abs=1e-12)


def test_integrals_by_quadrature_are_those_of_the_mass_matrix():
    """Two ways: sums over points inside the elements, and products with the assembled mass matrix."""
    cases = ((4, 0.03, 0.004, 4e-2), (4, 0.0, 0.0, 4e-2), (16, 0.0, 0.0, 2.5e-3))
    for elements, radius, inertia, near in cases:
        frame, arm = angled((0.02, radius) if radius else (0, 0), elements, (0, inertia, inertia), modes=5)
        x, M, _ = frame.matrices()
        x = x - x[0]
        other = of_matrix(M, x, np.concatenate([arm.shapes, arm.rotations], axis=1))
        ours = arm.moments
        for name in ("m", "h", "S", "P"):
            assert getattr(other, name) == pytest.approx(getattr(ours, name), rel=1e-9, abs=1e-9), name
        axial = [[(k, a, c) for k in range(5)] for a, c in ((0, 1), (1, 2), (2, 0))]
        for among in axial:  # what turning needs is exact
            for k, a, c in among:
                turned = ours.C1[k, a, c] - ours.C1[k, c, a]
                assert other.C1[k, a, c] - other.C1[k, c, a] == pytest.approx(turned, abs=1e-9)
        assert np.einsum("klaa->kl", other.C2) == pytest.approx(np.einsum("klaa->kl", ours.C2), abs=1e-9)
        assert np.abs(other.C1 - ours.C1).max() < near * np.abs(ours.C1).max()
        assert np.abs(other.C2 - ours.C2).max() < near * np.abs(ours.C2).max()


def test_modes_are_orthogonal_and_have_the_frequencies_of_the_matrices():
    from scipy.linalg import eigh

    frame, arm = angled(radii=(0.02, 0.03), modes=6)
    _, M, K = frame.matrices()
    w = np.sqrt(eigh(K[6:, 6:], M[6:, 6:], eigvals_only=True))[:6]
    assert arm.frequencies == pytest.approx(w, rel=1e-9)
    own = np.einsum("klaa->kl", arm.moments.C2)
    assert own == pytest.approx(np.diag(np.diag(own)), abs=1e-9 * own.max())
    assert np.diag(arm.rigidity) / np.diag(own) == pytest.approx(w**2, rel=1e-8)
    assert np.linalg.norm(arm.shapes, axis=1).max(axis=0) == pytest.approx(np.ones(6))


def test_interfaces_make_static_deflection_exact():
    """Constraint modes: a force at the tip bends the reduced body as it bends the whole."""
    for force in np.eye(3):
        frame, arm = angled(modes=1, interfaces=["tip"])
        _, _, K = frame.matrices()
        load = np.zeros(len(K))
        load[12:15] = force
        whole = np.zeros(len(K))
        whole[6:] = np.linalg.solve(K[6:, 6:], load[6:])
        d = np.linalg.solve(arm.rigidity, arm.shapes[2].T @ force)
        assert arm.shapes[2] @ d == pytest.approx(whole[12:15], rel=1e-7, abs=1e-12)
        assert arm.rotations[2] @ d == pytest.approx(whole[15:18], rel=1e-7, abs=1e-12)
    few = angled(modes=4)[1]
    d = np.linalg.solve(few.rigidity, few.shapes[2].T @ force)
    assert few.shapes[2] @ d != pytest.approx(whole[12:15], rel=1e-3)  # normal modes alone are not


def test_second_order_keeps_lengths_and_angles():
    """Axes moved by s0 + Phi d + g d d / 2 are as long as their linear stretch says, to third order."""
    _, arm = angled(modes=5, elements=24)
    draw = np.random.default_rng(3)
    d = draw.normal(size=5)
    faults = []
    for small in (1e-2, 1e-3):
        e = small * d
        first = np.einsum("iak,k->ia", arm.shapes, e)
        bent = arm.nodes + first + np.einsum("iakl,k,l->ia", arm.second, e, e) / 2
        worst = 0.0
        for a, b in arm.edges:
            straight = arm.nodes[b] - arm.nodes[a]
            stretched = np.linalg.norm(straight) + straight @ (first[b] - first[a]) / np.linalg.norm(straight)
            chord = np.linalg.norm(bent[b] - bent[a])
            # an arc is longer than its chord by angle^2 / 24
            angle = np.einsum("ak,k->a", arm.rotations[b] - arm.rotations[a], e)
            worst = max(worst, abs(chord * (1 + angle @ angle / 24) - stretched))
        faults.append(worst)
    assert faults[0] < 2e-6
    assert faults[1] < 4e-3 * faults[0]  # a hundredth would be an error of second order


def rotation(w):
    """exp(w~) by its series."""
    W = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    return np.eye(3) + W + W @ W / 2 + W @ W @ W / 6


def strained(frame, arm, d, steps=40):
    """The frame with its linear strains, in space: x' = (1 + e) R t and R' = R (R0^T th')~, step by step from the root.

    Returns nodes, and the sums of m s and of m s0 s^T over masses at the middles of the steps and on the nodes.
    """
    at = {0: (np.zeros(3), np.eye(3))}
    h, S = np.zeros(3), np.zeros((3, 3))
    left = list(frame._elements)
    while left:
        element = next(e for e in left if e.i in at or e.j in at)
        left.remove(element)
        forward = element.i in at
        x, R = at[element.i if forward else element.j]
        ends = [part[k] @ d for k in (element.i, element.j) for part in (arm.shapes, arm.rotations)]
        amplitudes = np.concatenate(ends)
        t = element.R[:, 0]
        stretch = t @ (amplitudes[6:9] - amplitudes[:3]) / element.length
        way = element.length / steps * (1 if forward else -1)
        about_y, about_z = element.radii
        y, z = np.sqrt(2) * about_z * element.R[:, 1], np.sqrt(2) * about_y * element.R[:, 2]
        for i in range(steps):
            middle = (i + 0.5) / steps if forward else 1 - (i + 0.5) / steps
            curved = (element.field([middle])[2][0] @ amplitudes) * way
            half = R @ rotation(curved / 2)
            place = x + half @ t * (1 + stretch) * way / 2
            rest = arm.nodes[element.i] + t * middle * element.length
            for offset in (y, -y, z, -z):
                mass = element.mu * element.length / steps / 4
                h += mass * (place + half @ offset)
                S += mass * np.outer(rest + offset, place + half @ offset)
            x, R = x + half @ t * (1 + stretch) * way, R @ rotation(curved)
        at[element.j if forward else element.i] = (x, R)
    for i, masses, offsets in frame._lumps:
        x, R = at[i]
        for mass, offset in zip(masses, offsets, strict=True):
            h += mass * (x + R @ offset)
            S += mass * np.outer(arm.nodes[i] + offset, x + R @ offset)
    return np.array([at[i][0] for i in range(len(arm.nodes))]), h, S


def test_second_order_is_that_of_the_same_strains_in_space():
    """Differences of a frame that is bent, twisted and stretched step by step, with soft members so that all couple."""
    soft = {"EA": 40.0, "EI_y": 6.0, "EI_z": 5.0, "GJ": 4.0, "mu": 0.27, "radii": (0.1, 0.15), "elements": 2}
    frame = ph.Frame({"hub": (0, 0, 0), "elbow": (1, 0, 0), "tip": (1, 0.5, 0.2)})
    frame.beam("hub", "elbow", **soft)
    frame.beam("tip", "elbow", **soft)  # towards the root
    frame.mass("tip", 0.5, inertia=(0.02, 0.03, 0.04))
    arm = frame.flexible(root="hub", modes=6)
    d = np.array([0.3, -0.4, 0.2, 0.3, -0.2, 0.25])
    small = 1e-3
    ahead, behind = (strained(frame, arm, s * small * d) for s in (1, -1))
    rest = strained(frame, arm, 0 * d)
    second = [(a + b - 2 * c) / small**2 for a, b, c in zip(ahead, behind, rest, strict=True)]
    first = [(a - b) / (2 * small) for a, b in zip(ahead, behind, strict=True)]
    # the linear part is that of the shapes, so that these are the same strains
    assert first[0] == pytest.approx(arm.shapes @ d, abs=2e-3)
    assert first[1] == pytest.approx(d @ arm.moments.P, abs=2e-3)
    assert second[0] == pytest.approx(np.einsum("iakl,k,l->ia", arm.second, d, d), abs=3e-3)
    assert second[1] == pytest.approx(np.einsum("kla,k,l->a", arm.moments.H2, d, d), abs=3e-3)
    assert second[2] == pytest.approx(np.einsum("klac,k,l->ac", arm.moments.G2, d, d), abs=3e-3)
    assert np.abs(second[0]).max() > 1


def test_supports_and_loops_have_no_second_order():
    frame = ph.Frame({"a": (0, 0, 0), "b": (0, 0, 1), "c": (1, 0, 1), "d": (1, 0, 0)})
    for start, end in ("ab", "bc", "cd"):
        frame.beam(start, end, **SECTION)
    with pytest.raises(ph.ModelError, match=r'clamped at several nodes.*Give order="full"'):
        frame.flexible(root="a", supports=["d"], modes=2)
    assert frame.flexible(root="a", supports=["d"], modes=2, order="full").second is None
    frame.beam("d", "a", **SECTION)
    with pytest.raises(ph.ModelError, match="form a loop"):
        frame.flexible(root="a", modes=2)


def test_formulations_agree_on_a_frame():
    """In its plane, so that sections turn about one axis, whatever the amplitudes that are drawn."""
    frame = ph.Frame({"hub": (0, 0, 0), "elbow": (0.5, 0, 0), "tip": (0.5, 0.3, 0)})
    for start, end in (("hub", "elbow"), ("elbow", "tip")):
        frame.beam(start, end, **{**SECTION, "EI_y": 6e6, "GJ": 6e6})
    arm = frame.flexible(root="hub", modes=2)
    build = ph.Builder("crane")
    build.body("arm", joint=ph.revolute("z", name="a"), flexible=arm)
    build.body("bob", parent="arm", at=(0.5, 0, 0), joint=ph.revolute("x", name="b"), mass=0.3, com=(0, 0.1, -0.2))
    checked = ph.check(build.build(), methods=["poincare", "lagrange", "denoc"], states=3)
    assert checked.agree, str(checked)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda f: f.beam("hub", "tp", **SECTION), "no node 'tp'. Did you mean 'tip'"),
        (lambda f: f.beam("hub", "hub", **SECTION), "both are at one point"),
        (lambda f: f.beam("hub", "tip", **{**SECTION, "EA": -1.0}), "EA is -1.0, expected a number above 0"),
        (lambda f: f.beam("hub", "tip", **{**SECTION, "mu": np.nan}), "mu is nan"),
        (lambda f: f.beam("hub", "tip", **SECTION, elements=0), "elements is 0"),
        (lambda f: f.beam("hub", "tip", **SECTION, up=(2, 0, 0)), "along the beam"),
        (lambda f: f.beam("hub", "tip", **SECTION, radii=(1, -1)), "radii is"),
        (lambda f: f.mass("tip", 0.0), "expected a number above 0"),
        (lambda f: f.mass("tip", 1.0, (1, 1, 3)), "no body has the inertia"),
        (lambda f: f.flexible(root="hub"), "has no beams"),
        (
            lambda f: (f.beam("hub", "tip", **SECTION), f.flexible(root="hub")),
            "no beam leads from the root to .* 'far'",
        ),
        (lambda f: ph.Frame({"a": (0, 0)}), r"node 'a' is \(0, 0\), expected three numbers"),
    ],
)
def test_faults(act, words):
    with pytest.raises(ph.ModelError, match=words):
        act(ph.Frame({"hub": (0, 0, 0), "tip": (1, 0, 0), "far": (2, 0, 0)}))
