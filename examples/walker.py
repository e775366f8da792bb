"""An eight-legged walker with five motors, after the machine K2T of Nelson and Quinn, section 5.

Two frames turn on each other; each has four legs, whose femurs turn together by one motor and whose tibiae by another,
along cables: 23 joints and 11 degrees of freedom. While one frame stands, the other swings. The paper has no numbers;
masses, lengths and gaits are ours. Legs 1 to 4 are on the bottom frame, 5 to 8 on the top one, each front left, front
right, rear left, rear right. SI units; x forward, y left, z up.
"""

from dataclasses import dataclass
from typing import Any

import polhode as ph
from polhode.graph import diff

LEGS = {"bottom": range(1, 5), "top": range(5, 9)}
WAYS = (1, 1, -1, -1)  # of the femurs: D_F of the paper
FRAME = {"mass": 2.5, "inertia": (0.020, 0.045, 0.060)}
HIPS = {"bottom": ((0.10, -0.18), 0.13, 0.0), "top": ((0.18, -0.10), 0.19, -0.05)}  # x, y, z in the frame
FEMUR, TIBIA = 0.12, 0.22
WEIGHT = 66.3

RATIO, REFLECTED = 100, 0.02  # of the gears, and inertia of a rotor as the joints feel it
KP = {"B": 120, "F_bottom": 500, "T_bottom": 400, "F_top": 500, "T_top": 400}
KD = {"B": 6, "F_bottom": 14, "T_bottom": 10, "F_top": 14, "T_top": 10}
LIMIT = {"B": 20, "F_bottom": 40, "T_bottom": 30, "F_top": 40, "T_top": 30}
GROUND = {"stiffness": 2e4, "dissipation": 2.0, "friction": 0.8, "slip_speed": 0.02}


def rod(mass: float, long: float, radius: float, along: str, way: int = 1) -> dict[str, Any]:
    """Mass, centre and inertia of a rod from the origin along an axis."""
    thick, slender = mass * radius**2 / 2, mass * (long**2 / 12 + radius**2 / 4)
    return {
        "mass": mass,
        "com": tuple(way * long / 2 * (a == along) for a in "xyz"),
        "inertia": tuple(thick if a == along else slender for a in "xyz"),
    }


def frames() -> ph.Builder:
    """Two frames with eight legs: 23 joints."""
    build = ph.Builder("walker")
    build.body("top", joint=ph.free(quaternion=False), **FRAME)
    hinge = ph.revolute("z", name="body", damping=0.002)
    build.body("bottom", parent="top", joint=hinge, at=(0, 0, -0.05), **FRAME)
    for frame, legs in LEGS.items():
        xs, y, z = HIPS[frame]
        for i, leg in enumerate(legs):
            femur, tibia, foot, way = f"femur_{leg}", f"tibia_{leg}", f"foot_{leg}", WAYS[i]
            at = (xs[i // 2], y if i % 2 == 0 else -y, z)
            joint = ph.revolute("y", damping=0.002)
            build.body(femur, parent=frame, joint=joint, at=at, **rod(0.12, FEMUR, 0.012, "x", way))
            build.body(tibia, parent=femur, joint=joint, at=(FEMUR * way, 0, 0), **rod(0.10, TIBIA, 0.010, "z", -1))
            build.marker(foot, body=tibia, at=(0, 0, -TIBIA))
    return build


def walker(ground: dict[str, Any] | None = None, link: str = "gear", **motors: Any) -> ph.Model:
    """The walker with its five motors on flat ground.

    ground : what its contacts are, `GROUND` where nothing is said; {"friction": 0.8} is rigid ground with Coulomb's law
    link   : of femurs to their motors; with a "clutch" or "reversing clutch" each femur has a brake as well
    motors : what all motors have besides, such as damping of their rotors; with a `constant` and a `resistance` their
             controls are voltages, without limits here
    """
    build = frames()
    rotor = {"inertia": REFLECTED / RATIO**2, "ratio": RATIO} | motors
    limits = {name: {"lower": -limit / RATIO, "upper": limit / RATIO} for name, limit in LIMIT.items()}
    if "constant" in motors:
        limits = {name: {} for name in LIMIT}
    build.motor("B", on="top", **rotor, **limits["B"]).drives({"body": 1})
    for frame, legs in LEGS.items():
        F, T = f"F_{frame}", f"T_{frame}"
        femurs = {f"femur_{leg}": way for leg, way in zip(legs, WAYS, strict=True)}
        build.motor(F, on=frame, axis="y", link=link, **rotor, **limits[F]).drives(femurs)
        tibiae = {f"tibia_{leg}": 1 for leg in legs}
        build.motor(T, on=frame, axis="y", cable=True, **rotor, **limits[T]).drives(tibiae)
        for leg in legs:
            build.contact(f"foot_{leg}", name=f"ground {leg}", **(GROUND if ground is None else ground))
            if link != "gear":
                build.brake(f"femur_{leg}_dot", name=f"brake {leg}", active=False)
    return build.build()


def ramp(x: Any, a: float = 0, b: float = 1) -> Any:
    """From 0 at a to 1 at b, with speed and acceleration 0 at both: x^3 (10 - 15 x + 6 x^2)."""
    x = ph.maximum(ph.minimum((x - a) / (b - a), 1), 0)
    return x**3 * (10 - 15 * x + 6 * x**2)


@dataclass(frozen=True)
class Gait:
    """How the motors are to move: one frame stands for a half step while the other swings.

    stride : rad, tibiae swing from -stride to stride
    turn   : rad, by which the frames turn on each other in a half step
    later  : s, when they begin to; 0 for from the start
    half   : s, of a half step
    stand  : s, before the first
    """

    stride: float = 0.25
    turn: float = 0.0
    later: float = 0.0
    half: float = 0.8
    stand: float = 0.4

    @property
    def height(self) -> float:
        """Of the hips above the ground."""
        return TIBIA * float(ph.evaluate(ph.cos(self.stride), {}))

    def femur(self, T: Any) -> Any:
        """The angle of the femurs that keeps the hips at their height."""
        return ph.asin((self.height - TIBIA * ph.cos(T)) / FEMUR)

    def legs(self, x: Any, stands: bool) -> tuple[Any, Any]:
        """F and T of a frame at x of a half step, 0 to 1, each with what its motor yields under the load."""
        forth = self.stride * (2 * ramp(x, 0.20, 0.72) - 1)
        share = ph.select(x < 0.5, 0.5 + 0.5 * ramp(x, 0.04, 0.24), 1 - 0.5 * ramp(x, 0.85, 1))
        T, share = (forth, share) if stands else (-forth, 1 - share)
        F = self.femur(T)
        if not stands:
            lifted = ramp(x, 0.04, 0.24) * (1 - ramp(x, 0.68, 0.94))
            F = (1 - lifted) * F - 0.50 * lifted
        load = share * WEIGHT
        return F + load * FEMUR * ph.cos(F) / KP["F_top"], T - load * TIBIA * ph.sin(T) / KP["T_top"]

    def half_step(self, stands: str) -> dict[str, Any]:
        """All motors' angles at x of a half step."""
        x = ph.symbol("x")
        swings = "top" if stands == "bottom" else "bottom"
        grown = ramp(ph.symbol("t"), self.later, self.later + self.half) if self.later else 1
        turned = self.turn * grown * (0.5 - ramp(x, 0.20, 0.72))
        found = {"B": turned if stands == "bottom" else -turned}
        for frame in (stands, swings):
            found[f"F_{frame}"], found[f"T_{frame}"] = self.legs(x, frame == stands)
        return found

    def reference(self) -> dict[str, tuple[Any, Any]]:
        """All motors' angles and rates at time t, as expressions: the bottom frame stands first, then the top one.

        The time in a cycle is an angle, atan2(sin, cos), so that it begins anew.
        """
        (x, t), (second_half, at) = ph.symbols("x t"), self.phase()
        first, second = self.half_step("bottom"), self.half_step("top")
        found = {}
        for name in KP:
            moved = ph.select(second_half, second[name], first[name])
            rates = [diff(half[name], x) / self.half + diff(half[name], t) for half in (second, first)]
            found[name] = tuple(ph.substitute(e, {x: at}) for e in (moved, ph.select(second_half, *rates)))
        return found

    def control(self) -> dict[str, Any]:
        """Torques on the rotors."""
        return {name: torque(name, *wanted) for name, wanted in self.reference().items()}

    def phase(self) -> tuple[Any, Any]:
        """Whether the top frame stands at time t, and how much of the half step is done, 0 to 1."""
        cycle = ph.pi * ph.maximum(ph.symbol("t") - self.stand, 0) / self.half
        done = ph.atan2(ph.sin(cycle), ph.cos(cycle)) / ph.pi  # 0 to 1 in the first half step, -1 to 0 in the second
        return done < 0, ph.select(done < 0, done + 1, done)

    def start(self) -> dict[str, float]:
        """At rest, feet 0.8 mm deep."""
        turned = 0 if self.later else self.turn / 2
        found = {"top_z": 0.05 + self.height - 0.0008, "body": turned, "B": turned * RATIO}
        for frame, legs in LEGS.items():
            T = -self.stride if frame == "bottom" else self.stride
            found[f"T_{frame}"] = T * RATIO
            found |= {f"tibia_{leg}": T for leg in legs}
        return found

    def time(self, cycles: float) -> float:
        """When some cycles have been walked."""
        return self.stand + 2 * self.half * cycles


def torque(name: str, angle: Any, rate: Any) -> Any:
    """Of a motor, proportional to what its angle and rate are off; the motor itself has the limits."""
    rotor, turns = ph.symbols(f"{name} {name}_dot")
    return (KP[name] * (angle - rotor / RATIO) + KD[name] * (rate - turns / RATIO)) / RATIO


def bow(by: float = 0.2) -> tuple[dict[str, Any], list[Any]]:
    """Nod with front femurs reversed, D_F = (-1, -1, -1, -1): down, up and level again, from 1 s to 5 s.

    Returns the torques, and the switches that reverse the femurs at 0.5 s, when the machine stands still.
    """
    t = ph.symbol("t")
    angle = by * (ramp(t, 1, 2) - 2 * ramp(t, 2.5, 3.5) + ramp(t, 4, 5))
    wanted = Gait(stride=0, stand=6).reference()
    wanted |= {f"F_{frame}": (angle, diff(angle, t)) for frame in LEGS}
    clutches = [f"F_{frame} femur_{leg}" for frame, legs in LEGS.items() for leg in legs[:2]]
    switch = ph.at(0.5, release=clutches, engage=[f"{name} reversed" for name in clutches])
    return {name: torque(name, *each) for name, each in wanted.items()}, [switch]


def stepping(eq: ph.Equations, gait: Gait) -> list[Any]:
    """What brakes the femurs of feet that meet the ground early, and couples them to their motors again.

    A foot that carries 4 N while its frame is being lowered is above a step: its femur is braked, and the motor goes on
    without it. When the motor next lifts the frame, it takes the femur along from where it was braked.
    """
    top_stands, x = gait.phase()
    found = []
    for frame, legs in LEGS.items():
        swings = top_stands if frame == "bottom" else ~top_stands
        lowers, F, F_dot = swings & (x > 0.68), *(s / RATIO for s in ph.symbols(f"F_{frame} F_{frame}_dot"))
        for leg, way in zip(legs, WAYS, strict=True):
            clutch, brake = f"F_{frame} femur_{leg}", f"brake {leg}"
            femur, femur_dot = (way * s for s in ph.symbols(f"femur_{leg} femur_{leg}_dot"))
            early = (carried(eq, leg) > 4) & (F < -0.08) & lowers & (F_dot < femur_dot + 0.01)
            again = (femur > F) & (F_dot < femur_dot - 0.01)
            found.append(ph.when(early, engage=brake, release=clutch, name=f"leg {leg} meets a step"))
            found.append(ph.when(again, engage=clutch, release=brake, name=f"leg {leg} is lifted"))
    return found


def carried(eq: ph.Equations, leg: int) -> Any:
    """The force of the ground on a foot."""
    force = next(force for force in eq.model.forces if force.name == f"ground {leg}")
    place = eq.pose(f"foot_{leg}")[:3, 3]
    height = place[2] - ground_height(force, place)
    return force.push(ph.maximum(-height, 0), -eq.velocity(f"foot_{leg}")[5])


def ground_height(force: Any, place: Any) -> Any:
    """Of the ground below a place."""
    x, y = ph.symbols("x y")
    return 0 if force.relief is None else ph.substitute(force.relief, {x: place[0], y: place[1]})


def block(x: tuple[float, float], y: tuple[float, float] = (-1, 1), height: float = 0.03) -> Any:
    """A relief with a block on it."""
    X, Y = ph.symbols("x y")
    inside = (x[0] < X) & (x[1] > X) & (y[0] < Y) & (y[1] > Y)
    return ph.select(inside, height, 0)


def run(
    dyn: ph.Dynamics, gait: Gait, cycles: float, step: float = 5e-4, method: str = "rk4", **given: Any
) -> ph.Trajectory:
    """Walk some cycles."""
    start = {"q0": gait.start(), "tau": gait.control(), "method": method, "step": step} | given
    return ph.simulate(dyn, t_end=gait.time(cycles), **start)
