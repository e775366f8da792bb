"""Matrices that CalculiX wrote: its own frequencies, beam theory, and messages."""

import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest

import polhode as ph
from polhode.formats.calculix_mesh import read_mesh
from polhode.graph import vector

DATA = Path(__file__).parents[2] / "data/calculix"


@pytest.fixture(scope="module")
def bar():
    return ph.load_calculix(DATA / "bar.inp")


def number(m):
    return np.array([float(e) for e in m.entries]).reshape(m.shape)


def test_frequencies_are_those_of_calculix(bar):
    rows = [line.split() for line in (DATA / "clamped.dat").read_text().splitlines()]
    own = [float(row[2]) for row in rows if len(row) == 5 and row[0].isdecimal()]
    assert len(own) == 10
    body = bar.flexible(root="ROOT", modes=10, order="full")
    assert body.frequencies == pytest.approx(own, rel=2e-7)  # of as many digits as it prints


def test_frequencies_are_near_those_of_a_beam(bar):
    """3.516 sqrt(EI / mu L^4) in both planes, and pi/2 sqrt(E / rho) along."""
    body = bar.flexible(root="ROOT", modes=9, order="full")
    E, rho = 2.1e11, 7850
    bending = 3.516 * np.sqrt(E / rho / 12) * np.array([0.04, 0.06])
    assert body.frequencies[:2] == pytest.approx(bending, rel=0.02)
    assert body.frequencies[8] == pytest.approx(np.pi / 2 * np.sqrt(E / rho), rel=0.02)


def test_rigid_inertia_is_that_of_a_box(bar):
    I = bar.flexible(root="ROOT", modes=1, order="full").moments
    m = 7850 * 0.06 * 0.04
    assert float(I.m) == pytest.approx(m)
    assert I.h == pytest.approx([m / 2, 0, 0], abs=1e-9)
    assert pytest.approx(np.diag([m / 3, m * 0.06**2 / 12, m * 0.04**2 / 12]), abs=1e-9) == I.S


def test_interfaces_are_sets(bar):
    """A force at the tip, spread as the mean of its set is, deflects as P L^3 / 3 EI, and turns as P L^2 / 2 EI."""
    body = bar.flexible(root="root", interfaces=["tip"], modes=2, order="full")
    assert body.places == {"tip": pytest.approx((1, 0, 0), abs=1e-12)}
    tip = body.station(vector(body.places["tip"]), "Body 'hand'")
    Phi, Psi = number(tip.Phi), number(tip.Psi)
    d = np.linalg.solve(body.rigidity, Phi[2])
    EI = 2.1e11 * 0.06 * 0.04**3 / 12
    assert Phi[2] @ d == pytest.approx(1 / (3 * EI), rel=0.03)
    assert -Psi[1] @ d == pytest.approx(1 / (2 * EI), rel=0.03)
    # the same, without any reduction
    rows = [3 * i + 2 for i in bar.sets["TIP"]]
    free = np.setdiff1d(np.arange(len(bar.mass)), [3 * i + a for i in bar.sets["ROOT"] for a in range(3)])
    load = np.zeros(len(bar.mass))
    load[rows] = 1 / len(rows)
    whole = np.linalg.solve(bar.stiffness[np.ix_(free, free)], load[free]) @ load[free]
    assert Phi[2] @ d == pytest.approx(whole, rel=1e-6)
    single = bar.flexible(root="ROOT", interfaces=[93], modes=2, order="full")
    assert single.places["93"] == pytest.approx(bar.nodes[bar.numbers.index(93)])


def test_pictures_have_the_edges_of_the_box(bar):
    body = bar.flexible(root="ROOT", modes=2, order="full")
    ends = [[[float(e) for e in station.p.entries] for station in line] for line in body.lines]
    length = sum(np.linalg.norm(np.diff(line, axis=0), axis=1).sum() for line in ends)
    assert length == pytest.approx(4 * (1 + 0.06 + 0.04))
    assert len(body.lines) < 40


def test_large_ones_are_sparse(bar, monkeypatch):
    """The same body by sparse matrices as by full ones, with an interface."""
    for module in ("formats.calculix", "model.reduction"):
        monkeypatch.setattr(f"polhode.{module}.DENSE", 100)
    large = ph.load_calculix(DATA / "bar.inp")
    assert np.array_equal(large.stiffness.toarray(), bar.stiffness)
    given = {"root": "ROOT", "interfaces": ["TIP"], "modes": 4, "keep": 5, "order": "full"}
    ours, other = large.flexible(**given), bar.flexible(**given)
    assert ours.frequencies == pytest.approx(other.frequencies, rel=1e-7)
    assert pytest.approx(other.moments.C2, abs=1e-6) == ours.moments.C2
    assert pytest.approx(other.moments.C1, abs=1e-6) == ours.moments.C1


def test_first_order_is_refused_with_what_helps(bar):
    with pytest.raises(ph.ModelError, match=r'order="first" needs the second order.*or order="full"'):
        bar.flexible(root="ROOT")


def test_a_bar_on_a_joint_swings(bar):
    """A pendulum of steel: as stiff as it is, its slowest mode is that of a rigid one, (3/2 g / L)^(1/2)."""
    build = ph.Builder("pendulum", gravity=(9.81, 0, 0))
    build.body("bar", joint=ph.revolute("z", name="a"), flexible=bar.flexible(root="ROOT", modes=2, order="full"))
    model = build.build()
    assert model.coordinates == ("a", "bar_1", "bar_2")
    lin = ph.linearize(ph.formulate(model).compile())
    slowest = min(abs(np.linalg.eigvals(lin.A)))
    assert slowest == pytest.approx(np.sqrt(1.5 * 9.81 / (1 + 0.06**2 / 4)), rel=1e-3)


@pytest.fixture
def copied(tmp_path):
    for name in ("bar.inp", "bar.dof"):
        shutil.copy(DATA / name, tmp_path / name)
    for name in ("bar.sti", "bar.mas"):
        (tmp_path / name).write_bytes(gzip.decompress((DATA / f"{name}.gz").read_bytes()))
    return tmp_path


def test_files_need_not_be_packed(copied, bar):
    assert np.array_equal(ph.load_calculix(copied / "bar").stiffness, bar.stiffness)


def edited(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("bar.dof", "12.1\n12.2\n", "12.1\n", "node 12 has no row for direction 2: something holds it.*root="),
        ("bar.dof", "12.1\n", "999.1\n", "node 999 is not in bar.inp: CalculiX makes such nodes of beams and shells"),
        ("bar.dof", "12.1\n", "12.6\n", "node 12 has direction 6"),
        ("bar.dof", "12.1\n", "twelve\n", "line 34 is 'twelve', expected a node and a direction"),
        ("bar.sti", "1 1  4.95", "1 400  4.95", "has row 400, expected 1 to 312 as in bar.dof"),
        ("bar.mas", "1 1  6.1", "1 x  6.1", "something else than lines of a row, a column and a number"),
        ("bar.inp", "TYPE=C3D20", "TYPE=S8R", "line .* type 'S8R', expected solids"),
        ("bar.inp", "TYPE=C3D20", "TYPE=C3D8", "has 168 numbers, expected a multiple of 9"),
        ("bar.inp", "*NSET, NSET=TIP", "*TRANSFORM, NSET=ROOT", r"\*TRANSFORM: expected none. Leave it out"),
        ("bar.inp", "*NSET, NSET=TIP", "*INCLUDE, INPUT=more.inp", r"\*INCLUDE: expected none. Put the text"),
        ("bar.inp", "\n2, 0.125,", "\n2, zero,", r"line 3, \*NODE: has something else than numbers"),
        ("bar.inp", "\n2, 0.125,", "\n2000, 0.125,", "an element has node 2, which \\*NODE does not give"),
        ("bar.inp", "*ELEMENT", "*ELEPHANT", "no \\*NODE or no \\*ELEMENT of solids"),
    ],
)
def test_faults_of_files(copied, name, old, new, words):
    edited(copied / name, old, new)
    with pytest.raises(ph.ModelError, match=words):
        ph.load_calculix(copied / "bar")


def test_missing_files_and_sets(copied, bar):
    (copied / "bar.mas").unlink()
    with pytest.raises(ph.ModelError, match=r"bar\.mas: there is no such file.*SOLVER=MATRIXSTORAGE"):
        ph.load_calculix(copied / "bar")
    with pytest.raises(ph.ModelError, match=r"there is no \*NSET 'ROT'. Did you mean 'ROOT'"):
        bar.flexible(root="ROT")
    with pytest.raises(ph.ModelError, match="there is no node 999"):
        bar.flexible(root="ROOT", interfaces=[999])


def test_sets_that_are_generated_and_nested():
    text = """** a comment
*node, nset=all
1, 0, 0, 0
2, 1
3, 0, 1
4, 0, 0, 1
*Element, type = C3D4, elset=e
7, 1, 2,
3, 4
*NSET, NSET=some, GENERATE
1, 3, 2
*NSET, NSET=more
some, 4
"""
    mesh = read_mesh(text, "x")
    assert mesh.sets == {"ALL": (1, 2, 3, 4), "SOME": (1, 3), "MORE": (1, 3, 4)}
    assert mesh.elements[0].nodes == (1, 2, 3, 4)
    assert len(mesh.edges()) == 6
    assert len(mesh.outline()) == 6
