"""A tracked vehicle: ten road wheels on trailing arms with torsion bars, under a hull that bends and twists.

Kwatny and Blankenship ("Symbolic construction of models for multibody dynamics", section V) call a tracked vehicle with
a flexible hull and ten road wheels, of 15 degrees of freedom, the largest system that they considered, and say no
more of it. Counted here: heave, roll and pitch of the hull, ten arms, one mode of bending and one of twist, while the
vehicle is driven at a constant speed. With `free=True` the hull has all six, and the vehicle coasts: 18. Numbers are
ours, of the size of a carrier of 10 t. The track itself is left out. SI units; x forward, y left, z up. Wheels are
points, their centres, on a road that is z = 0 at the height of their radius.
"""

from typing import Any

import polhode as ph

LENGTH, LINE, TRACK = 4.6, 2000.0, 1.05  # of the hull: m, kg/m; half the distance of the tracks
SPREAD = {"J_y": 240.0, "J_z": 960.0}  # kg m, moments of inertia per length
BENDING, TORSION = 1.5e7, 8e6  # N m^2, EI and GJ
STATIONS = (0.8, 1.7, 2.6, 3.5, 4.4)  # where arms are, from the rear; the wheels trail
SIDES = {"L": 1, "R": -1}
WHEELS = [f"{side}{n}" for side in SIDES for n in range(1, 6)]
ARM, BELOW = 0.32, 0.35  # m, of an arm, and of its pivot below the middle of the hull
WHEEL = 90.0  # kg, of an arm with its wheel
LOW = -0.4  # rad, of an arm about where the vehicle stands
BAR = {"stiffness": 1.2e4, "damping": 900.0, "rest": LOW - 0.23}  # a torsion bar
TYRE = {"stiffness": 1e6, "damping": 2e3}
SPEED = 8.0
SHAPES = {"twist": [[0, 0, 3, -2]]}  # 1 at the front, 0 at the rear, free of moments at both


def hull(stiffness: float | None, modes: int = 1, **said: Any) -> dict[str, Any]:
    """What a body is told: a rigid hull, or a beam from the rear to the front, `stiffness` times as stiff as it is.

    The first mode of bending is sin(pi x / L): with the motion of the hull as a whole, it is within 1.4 % of the
    frequency of a beam that is free at both ends.
    """
    if stiffness is None:
        J_y, J_z = (J * LENGTH for J in SPREAD.values())
        slender = LINE * LENGTH**3 / 12
        turns = (J_y + J_z, slender + J_y, slender + J_z)
        return {"mass": LINE * LENGTH, "com": (LENGTH / 2, 0, 0), "inertia": turns}
    shapes = {"shapes": SHAPES} if modes == 1 else {}
    stiff = {"EI_y": BENDING * stiffness, "GJ": TORSION * stiffness, "modes": {"z": modes, "twist": modes}}
    return {"flexible": ph.beam(length=LENGTH, mu=LINE, **SPREAD, **stiff, ends="pinned-pinned", **shapes, **said)}


def vehicle(
    stiffness: float | None = 1.0, road: Any = None, free: bool = False, modes: int = 1, tyre: Any = None, **said: Any
) -> ph.Model:
    """The vehicle on a road.

    stiffness : of the hull, times that of the one meant; None for a rigid hull
    road      : its height as an expression of x and y; None where it is flat
    free      : whether the hull has all six degrees of freedom, else it is driven at SPEED without sway and yaw
    modes     : of bending, and of twist
    tyre      : what the contacts are, `TYRE` unless said
    said      : of the hull's beam, such as damping and order
    """
    build = ph.Builder("tracked vehicle")
    driven = [ph.revolute("x"), ph.revolute("y"), ph.prismatic("z"), ph.prismatic("x")]
    joint = ph.free(quaternion=False) if free else ph.compound(driven, q=("roll", "pitch", "heave", "way"))
    build.body("hull", joint=joint, **hull(stiffness, modes, **{"damping": 0.02} | said))
    if not free:
        build.prescribe("way", SPEED * ph.TIME, name="drive")
    for wheel in WHEELS:
        at = (STATIONS[int(wheel[1]) - 1], SIDES[wheel[0]] * TRACK, -BELOW)
        bar = ph.revolute("y", name=wheel, **BAR)
        build.body(f"arm {wheel}", parent="hull", joint=bar, at=at, mass=WHEEL, com=(-ARM, 0, 0), inertia=(2, 4, 2))
        build.marker(f"wheel {wheel}", body=f"arm {wheel}", at=(-ARM, 0, 0))
        ground = {} if road is None else {"relief": road}
        build.contact(f"wheel {wheel}", name=f"road {wheel}", **ground, **(TYRE if tyre is None else tyre))
    return build.build()


def bump(begin: float = 1.2 * LENGTH, long: float = 2.0, height: float = 0.15) -> Any:
    """A road with a bump under the left track, height/2 (1 - cos(2 pi x / long))."""
    x, y = ph.symbols("x y")
    inside = (x > begin) & (x < begin + long) & (y > 0)
    return ph.select(inside, height / 2 * (1 - ph.cos(2 * ph.pi * (x - begin) / long)), 0)


def stand(dyn: ph.Dynamics, span: float = 6.0) -> dict[str, float]:
    """Coordinates of the driven vehicle as it rests on its springs, at way = 0, where the road before that is flat."""
    guess = {"way": -SPEED * span, "heave": BELOW + 0.4 * ARM} | dict.fromkeys(WHEELS, LOW)
    traj = ph.simulate(dyn, guess, {"way_dot": SPEED}, 0.0, t0=-span)
    return dict(zip(dyn.equations.model.coordinates, traj.q[-1].tolist(), strict=True)) | {"way": 0.0}


def coasting(rest: dict[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """The same state of a free hull: coordinates and speeds."""
    names = {"heave": "hull_z", "pitch": "hull_ay", "roll": "hull_ax", "way": "hull_x"}
    turn = rest["pitch"]
    forward, up = (float(ph.evaluate(f(turn), {})) for f in (ph.cos, ph.sin))
    return {names.get(k, k): x for k, x in rest.items()}, {"hull_vx": SPEED * forward, "hull_vz": SPEED * up}


def carried(eq: ph.Equations, wheel: str) -> Any:
    """The force of the road on a wheel without its damping, an expression of the state."""
    force = next(force for force in eq.model.forces if force.name == f"road {wheel}")
    x, y, z = eq.pose(f"wheel {wheel}")[:3, 3]
    height = (
        0 if force.relief is None else ph.substitute(force.relief, dict(zip(ph.symbols("x y"), (x, y), strict=True)))
    )
    return force.push(ph.maximum(height - z, 0), 0)
