"""Which terms two methods compute by one function, found by watching what each of them calls."""

import sys
from itertools import combinations
from pathlib import Path

import pytest

import polhode
import polhode as ph
from polhode.equations.formulate import IN_JOINTS, METHODS, WAYS
from polhode.formulations import sources
from polhode.formulations.terms import SHARED
from polhode.kinematics import derive

TERMS = ("mass", "velocity", "gravity", "forces", "convective")
ROOT = Path(polhode.__file__).parent

ELBOW = ph.revolute("y", damping=0.3, stiffness=2, friction=0.1, friction_speed=1e-3)

# what is read by all: the tree with its poses and twists, and the laws of forces
READ = {
    "motion.py": {"X_W", "frame", "pose", "velocity", "require_axes", "named_speed", "z", "z_dot"},
    "tree.py": {"joints", "motion", "poses", "V", "carried", "ancestors", "pulled", "q_dot", "section"},
    "loads.py": {"elastic_energy", "speed_forces"},
}


def machine():
    """A tree with a ball joint, a branch, armatures, and forces of every kind."""
    build = ph.Builder("all sorts", gravity=(1, 2, -9))
    body = {"mass": 2, "com": (0.1, 0.2, 0.3), "inertia": (1, 1.2, 1.5)}
    build.body("ball", joint=ph.spherical(armature=[0.1, 0.2, 0.3]), **body)
    build.body("arm", parent="ball", at=(0, 0.5, 0), joint=ELBOW, **body)
    build.body("slide", parent="ball", at=(0.3, 0, 0), joint=ph.prismatic("x", name="x"), **body)
    build.marker("tip", body="arm", at=(0, 0, 1))
    build.marker("end", body="slide", at=(0, 1, 0))
    build.spring("tip", "end", stiffness=3, length=0.4, damping=0.2)
    build.wrench("tip", force=(1, 2, 3), torque=(0.1, 0.2, 0.3))
    build.potential(ph.symbol("x") ** 4)
    build.force("x_dot", -(ph.symbol("x_dot") ** 3))
    return build.build()


def called(method, term):
    """The functions of kinematics and formulations that a method calls for a term."""
    kin = derive(machine(), rates=method == "lagrange")
    found = set()

    def watch(frame, event, _):
        if event == "call":
            found.add(frame.f_code)

    way = WAYS["substitution"] if method == "kane" else IN_JOINTS[method]
    sys.setprofile(watch)
    try:
        getattr(way(kin), term)()
    finally:
        sys.setprofile(None)
    return {named(code) for code in found} - {None}


def named(code):
    """File and name of a function of ours, with what is defined within it; None for others."""
    path = Path(code.co_filename)
    ours = path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in ("kinematics", "formulations")
    return (path.name, code.co_qualname.split(".<locals>")[0].split(".")[-1]) if ours else None


@pytest.fixture(scope="module")
def calls():
    return {(method, term): called(method, term) for method in METHODS for term in TERMS}


def shared(calls, a, b, term):
    both = calls[a, term] & calls[b, term]
    return {(file, name) for file, name in both if name not in READ.get(file, ())}


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize(("a", "b"), [*combinations(METHODS, 2)])
def test_methods_share_the_functions_they_say(calls, a, b, term):
    assert calls[a, term]
    assert bool(shared(calls, a, b, term)) == ({a, b} <= {*SHARED.get(term, ())}), shared(calls, a, b, term)


def test_what_is_read_by_all_is_read_by_two(calls):
    """Nothing is on the list for no reason."""
    both = set().union(*(calls[a, t] & calls[b, t] for a, b in combinations(METHODS, 2) for t in TERMS))
    assert {(file, name) for file, names in READ.items() for name in names} <= both


def test_sources_of_several_terms():
    assert sources(["velocity", "gravity"], METHODS) == [(m,) for m in METHODS]
    together = [("lagrange",), ("poincare", "denoc"), ("quasicoordinate",), ("book",), ("kane",)]
    assert sources(["mass", "velocity"], METHODS) == together
    assert sources(["forces"], ["kane", "denoc"]) == [("kane",), ("denoc",)]
    deforming = sources(["velocity"], ["poincare", "denoc", "kane", "quasicoordinate"], deforming=True)
    assert deforming == [("poincare", "kane"), ("denoc", "quasicoordinate")]
