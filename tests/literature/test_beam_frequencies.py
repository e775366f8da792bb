"""Natural frequencies of machines with beams, from linear models, against exact roots of Euler-Bernoulli beams.

The exact ones are those of dynamic stiffness (tests/exact_beams.py), which assumes no shapes; those of twist and
stretch are roots of x tan x = r.

How the error of the first frequency falls with the number n of modes, of a beam of 1.3 m, 0.7 kg/m and 20 N m^2:

                                    clamped-free shapes, n = 2, 4, 8, 12     order    polynomials, n = 2, 4, 8
    on a hinge with a hub           1e-4     1.1e-6   9.4e-9   5.6e-10       n^-7     1e-3    6e-5    1e-12
    point mass at the tip           1.1e-3   1.5e-4   1.9e-5   5.8e-6        n^-3     4e-4    2e-7    1e-12
      its second frequency          1.6e-2   2.1e-3   2.7e-4   8e-5          n^-3     4e-1    1.5e-3  8e-10
    pin at the tip, by a constraint 2.3e-2   3e-3     4e-4     1.2e-4        n^-3     3e-1    1e-3    3e-10
    payload with inertia
      its second frequency          1.3e-1   5.7e-2   2.7e-2   1.8e-2        n^-1     7e-2    3e-4    5e-11

Exact shapes of a free end have no shear and no moment there. What a payload's force at the tip bends beyond the shapes
kept is sum phi^2 / omega^2 over the others, of order n^-3; of its moment it is sum phi'^2 / omega^2, of order n^-1; a
hinge at the root needs sum B^2 / omega^2, of order n^-7. So for payloads take shapes="polynomial" or
ends="clamped-mass", which is exact for a point mass.
"""

import numpy as np
import pytest

import polhode as ph
from tests.exact_beams import Bar, Lump, assembled, hanging, single, two_links
from tests.exact_beams import frequencies as exact_roots

BAR = Bar(1.3, 0.7, 20.0)
HUB = {"mass": 1, "inertia": (0.1, 0.2, 0.1)}


def arm(joint, modes, bar=BAR, gravity=(0, 0, 0), hub=None, plane="y", **options):
    """A builder with one beam along x that bends along y or z."""
    build = ph.Builder("arm", gravity=gravity)
    stiff = {{"y": "EI_z", "z": "EI_y"}[plane]: bar.EI}
    flexible = ph.beam(length=bar.L, mu=bar.mu, modes=modes, **stiff, **options)
    build.body("arm", joint=joint, flexible=flexible, **(hub or {}))
    return build


def loaded(build, tip, L=BAR.L, parent="arm", name="load"):
    """Weld a payload to the tip."""
    build.body(
        name, parent=parent, joint=ph.weld(), at=(L, 0, 0), mass=tip.m, com=(tip.ahead, 0, 0), inertia=(tip.I,) * 3
    )
    return build


def frequencies(build, many, q=None, **options):
    """The lowest angular frequencies of the linear model at rest, without those that drift."""
    model = build.build()
    q = model.neutral() if q is None else q
    values = ph.linearize(ph.formulate(model).compile(), q, **options).modes().eigenvalues
    assert np.abs(values.real).max() < 1e-6 * np.abs(values).max()
    found = np.sort(np.abs(values.imag))
    return found[found > 0.05][:many]


def errors(found, exact):
    return np.abs(found / exact[: len(found)] - 1)


def orders(by_modes, many):
    """Exponents of the errors from one number of modes to the next."""
    return -np.diff(np.log(by_modes), axis=0) / np.diff(np.log(many))[:, None]


@pytest.mark.parametrize("plane", "yz")
@pytest.mark.parametrize("axis", ["x", "-y", (1, 2, -2)])
def test_clamped_free(plane, axis):
    """The fifth is 3e-6 from one with both ends clamped, where the exact stiffness has a pole."""
    assert errors(frequencies(arm(ph.weld(), 5, plane=plane, axis=axis), 5), single(BAR, 5)).max() < 1e-10


def test_published_roots():
    """1.8751, 4.6941, 7.8548, 10.9955: the exact solver is no other than that of the textbooks."""
    scale = np.sqrt(BAR.EI / BAR.mu / BAR.L**4)
    roots = [1.875104068711961, 4.694091132974174, 7.854757438237613, 10.995540734875467]
    assert np.sqrt(single(BAR, 4) / scale) == pytest.approx(roots, rel=1e-12)
    pinned = [3.926602312047919, 7.068582745628732, 10.210176122813031]
    assert np.sqrt(single(BAR, 3, pinned=True) / scale) == pytest.approx(pinned, rel=1e-12)


@pytest.mark.parametrize("plane", "yz")
def test_hinge_with_hub(plane):
    """The hub turns with the beam; the error falls as n^-7."""
    many = [3, 6, 9]
    exact = single(BAR, 3, hub=0.1 if plane == "y" else 0.2)
    joint = ph.revolute("z" if plane == "y" else "y")
    found = [errors(frequencies(arm(joint, n, hub=HUB, plane=plane), 2), exact) for n in many]
    assert found[-1].max() < 1e-8
    assert (np.abs(orders(found, many) - 7) < 0.8).all()


def test_hinge_at_a_hub_radius():
    """The beam begins off the axis: its root moves as the hub turns."""
    radius = 0.2

    def stiffness(omega):
        ends = [[radius, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
        return assembled(3, (BAR.stiffness(omega), ends), ([[-(omega**2) * 0.1]], [[1, 0, 0]]))

    build = arm(ph.revolute("z"), 8, hub=HUB, start=(radius, 0, 0))
    assert errors(frequencies(build, 3), exact_roots([BAR], stiffness, 3)).max() < 4e-6


def test_a_hub_on_a_pinned_beam_turns_with_its_end():
    """Given with the beam, or as a body of its own that is welded to the end: it turns with the hinge."""
    given = arm(ph.revolute("z"), 12, hub=HUB, ends="pinned-pinned", shapes="polynomial")
    own = arm(ph.revolute("z"), 12, ends="pinned-pinned", shapes="polynomial")
    own.body("hub", parent="arm", joint=ph.weld(), **HUB)
    assert errors(frequencies(given, 2), single(BAR, 2, hub=0.1)).max() < 0.05
    assert errors(frequencies(given, 4), frequencies(own, 4)).max() < 1e-10


@pytest.mark.parametrize(("tip", "order"), [(Lump(0.5), 3), (Lump(0.5, 0.02), 1), (Lump(0.5, 0.02, 0.15), 1)])
def test_payload(tip, order):
    """Polynomials converge at once, shapes of a free end as n^-3 of a point mass and n^-1 of one that turns."""
    exact = single(BAR, 3, tip=tip)
    build = loaded(arm(ph.weld(), 9, shapes="polynomial"), tip)
    assert errors(frequencies(build, 2), exact).max() < 1e-9
    many = [4, 8, 12]
    found = [errors(frequencies(loaded(arm(ph.weld(), n), tip), 2), exact) for n in many]
    assert (np.abs(orders(found, many)[:, 1] - order) < 0.25).all()


def test_shapes_that_know_the_payload_are_exact():
    build = loaded(arm(ph.weld(), 4, ends="clamped-mass", tip_mass=0.5), Lump(0.5))
    assert errors(frequencies(build, 4), single(BAR, 4, tip=Lump(0.5))).max() < 1e-12


def pinned(build, L=BAR.L):
    build.marker("tip", body="arm", at=(L, 0, 0))
    build.marker("ground", body="world", at=(L, 0, 0))
    build.loop("ground", "tip", "axis", axis="x")
    return build


def test_pins_at_both_ends():
    """Shapes of pins, a hinge and a loop that lets the tip slide: n pi."""
    found = frequencies(pinned(arm(ph.revolute("z"), 4, ends="pinned-pinned")), 4)
    exact = (np.pi * np.arange(1, 5)) ** 2 * np.sqrt(BAR.EI / BAR.mu / BAR.L**4)
    assert errors(found, exact).max() < 1e-11
    assert errors(found, single(BAR, 4, pinned=True, hub=0.0)).max() < 1e-11


def test_a_pin_at_the_tip():
    """By shapes that have it, and by a constraint on shapes that have not: n^-3."""
    exact = single(BAR, 4, pinned=True)
    assert errors(frequencies(arm(ph.weld(), 4, ends="clamped-pinned"), 4), exact).max() < 1e-11
    many = [4, 8, 12]
    found = [errors(frequencies(pinned(arm(ph.weld(), n)), 2), exact) for n in many]
    assert (np.abs(orders(found, many) - 3) < 0.3).all()


def tangent_roots(r, many):
    """Roots of x tan x = r, one in each (n pi, n pi + pi/2), by bisection."""
    found = []
    for n in range(many):
        low, high = n * np.pi, n * np.pi + np.pi / 2
        for _ in range(80):
            x = (low + high) / 2
            low, high = (x, high) if (x * np.sin(x) - r * np.cos(x)) * (-1) ** n < 0 else (low, x)
        found.append(x)
    return np.array(found)


@pytest.mark.parametrize("kind", ["twist", "stretch"])
def test_twist_and_stretch_with_a_payload(kind):
    """theta = sin(x s), x tan x = J L / I, or mu L / m; polynomials at once, sines as 1/n."""
    L, mu, J, GJ, EA, m, I = 1.3, 0.7, 0.004, 3.0, 900.0, 0.4, 0.01
    given = {"GJ": GJ, "J": J} if kind == "twist" else {"EA": EA}
    r, speed = (J * L / I, np.sqrt(GJ / J)) if kind == "twist" else (mu * L / m, np.sqrt(EA / mu))
    exact = tangent_roots(r, 3) * speed / L

    def found(n, shapes="exact"):
        build = ph.Builder("bar", gravity=(0, 0, 0))
        build.body("arm", joint=ph.weld(), flexible=ph.beam(length=L, mu=mu, modes={kind: n}, shapes=shapes, **given))
        return errors(frequencies(loaded(build, Lump(m, I), L), 2), exact)

    assert found(9, "polynomial").max() < 1e-9
    many = [4, 8, 16]
    assert (np.abs(orders([found(n) for n in many], many) - 1) < 0.25).all()


SECOND = Bar(1.0, 0.5, 9.0)
ELBOW, TIP = Lump(0.8, 0.01), Lump(0.3, 0.004, 0.05)


def two_link_arm(n, bend, locked, shapes="polynomial"):
    build = ph.Builder("arm", gravity=(0, 0, 0))
    hinge = {name: ph.weld() if name in locked else ph.revolute("z", name=name) for name in ("hub", "elbow")}
    first, second = (ph.beam(length=bar.L, mu=bar.mu, EI_z=bar.EI, modes=n, shapes=shapes) for bar in (BAR, SECOND))
    build.body("upper", joint=hinge["hub"], flexible=first, **HUB)
    build.body("motor", parent="upper", joint=ph.weld(), at=(BAR.L, 0, 0), mass=ELBOW.m, inertia=(ELBOW.I,) * 3)
    if "elbow" in locked:
        build.body("fore", parent="upper", joint=ph.weld(), at=(BAR.L, 0, 0), rpy=(0, 0, bend), flexible=second)
    else:
        build.body("fore", parent="upper", joint=hinge["elbow"], at=(BAR.L, 0, 0), flexible=second)
    return loaded(build, TIP, SECOND.L, "fore", "tool")


@pytest.mark.parametrize("locked", [(), ("hub",), ("elbow",), ("hub", "elbow")])
@pytest.mark.parametrize("bend", [0.0, 0.9])
def test_two_link_arm(bend, locked):
    """Two beams with hub, motor at the elbow and tool, joints free or locked, straight or bent at the elbow."""
    build = two_link_arm(7, bend, locked)
    model = build.build()
    q = {"elbow": bend} if "elbow" in model.coordinates else {}
    found = frequencies(build, 3, q)
    exact = two_links(BAR, SECOND, 3, 0.1, ELBOW, TIP, bend, locked)
    assert errors(found, exact).max() < 2e-7


def test_a_joint_that_is_locked_is_a_weld():
    build = two_link_arm(3, 0.0, ())
    build.lock("elbow", name="brake")
    assert errors(frequencies(build, 3), frequencies(two_link_arm(3, 0.0, ("elbow",)), 3)).max() < 1e-10


@pytest.mark.parametrize("hinged", [False, True])
def test_a_beam_that_hangs_is_stiffened_by_its_weight(hinged):
    """Shortening lifts the mass beyond: order "first" has it, "full" has not.

    Against finite elements with the tension mu g (L - x). A clamped beam of order "full" does not know of gravity;
    on a hinge it falls over, as what holds it straight is missing while its modes are drawn down beside the hinge.
    """
    g, soft = 9.81, Bar(1.3, 0.7, 1.0)
    exact = hanging(soft, g, 3, pinned=hinged)
    joint = ph.revolute("z") if hinged else ph.weld()
    first, full = (
        arm(joint, 10, soft, gravity=(g, 0, 0), shapes="polynomial", order=order) for order in ("first", "full")
    )
    assert errors(frequencies(first, 3), exact).max() < 1e-6
    if hinged:
        model = full.build()
        assert ph.linearize(ph.formulate(model).compile(), model.neutral()).modes().eigenvalues.real.max() > 10
    else:
        assert errors(frequencies(full, 3), single(soft, 3)).max() < 1e-6
        assert errors(exact, single(soft, 3)).max() > 0.3


def test_a_beam_that_stands_buckles_at_its_greatest_height():
    """mu g L^3 = 7.8373 EI [Greenhill 1881]: just below it swings slowly, just above it falls."""
    critical = 7.837347 * BAR.EI / BAR.mu / BAR.L**3
    for part, stable in ((0.999, True), (1.001, False)):
        model = arm(ph.weld(), 6, gravity=(-critical * part, 0, 0), shapes="polynomial").build()
        values = ph.linearize(ph.formulate(model).compile(), model.neutral()).modes().eigenvalues
        assert (values.real.max() < 1e-6) == stable
