"""Planar machines with flexible beams in Exudyn: cables that bend as far as they like (ANCF), as references.

Each machine is a record of its numbers, from which Polhode's model is made too. Beams are straight where nothing
loads them, do not shear, and stretch by less than what is compared: EA is large. All machines start at rest.
`run` moves one of them in Exudyn with as many elements a beam and such steps as are asked for.
"""

import math
from dataclasses import dataclass, fields, replace
from itertools import pairwise

import exudyn as exu
import exudyn.itemInterface as ei  # noqa: N813 - as its examples have it
import numpy as np

SAMPLE = 0.01  # seconds between what is kept


@dataclass(frozen=True, kw_only=True)
class Beam:
    """A uniform beam. [m, kg/m, N m^2, N]"""

    length: float
    mu: float
    EI: float
    EA: float = 1e6


@dataclass(frozen=True, kw_only=True)
class History:
    """What a machine did.

    t          : (n,)
    angles     : (n, k), of the section at the root of each beam against the x axis, unwrapped
    tips       : (n, k, 2), where each beam ends
    deflection : (n, k), how far each tip is from the tangent at the root, in lengths of the beam; of a beam that is
                 hinged at both ends its middle from the line between them
    crank      : (n,), the angle of the crank, if there is one
    """

    t: np.ndarray
    angles: np.ndarray
    tips: np.ndarray
    deflection: np.ndarray
    crank: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class Pendulum:
    """A beam hinged at the origin, let go where it is horizontal."""

    beam: Beam
    gravity: float = 9.81
    span: float = 1.0

    def assemble(self, s, elements):
        beam = s.beam(self.beam, (0, 0), 0.0, elements, self.gravity)
        s.hinge(beam.nodes[0])


@dataclass(frozen=True, kw_only=True)
class Arm:
    """Two beams on hubs, without gravity; torques  peak sin(2 pi t/span)  turn the shoulder and the elbow.

    hubs  : mass and inertia of each about its hinge, where its beam begins
    tip   : a point mass at the end [kg]
    start : angles of shoulder and elbow
    """

    beams: tuple[Beam, Beam]
    hubs: tuple[tuple[float, float], tuple[float, float]]
    tip: float
    peaks: tuple[float, float]
    start: tuple[float, float] = (0.0, 0.5)
    span: float = 2.0

    def torque(self, joint, t):
        return self.peaks[joint] * math.sin(2 * math.pi * t / self.span)

    def assemble(self, s, elements):
        first, second = self.start[0], sum(self.start)
        p = self.beams[0].length * np.array([math.cos(first), math.sin(first)])
        upper = s.beam(self.beams[0], (0, 0), first, elements)
        lower = s.beam(self.beams[1], p, second, elements)
        hubs = [s.rigid(at, a, *hub) for at, a, hub in zip([(0, 0), p], (first, second), self.hubs, strict=True)]
        s.hinge(hubs[0].node)
        s.hinge(upper.nodes[-1], lower.nodes[0])
        for hub, beam in zip(hubs, (upper, lower), strict=True):
            s.weld(s.on_rigid(hub), s.root(beam))
        s.joined(s.mass(lower.end, self.tip), lower.nodes[-1])
        s.torque(s.on_rigid(hubs[0]), lambda t: self.torque(0, t))
        s.torque(s.on_rigid(hubs[1]), lambda t: self.torque(1, t))
        s.torque(s.tip(upper), lambda t: -self.torque(1, t))


@dataclass(frozen=True, kw_only=True)
class SliderCrank:
    """A rigid crank, balanced about the origin, a flexible rod and a slider along x; no gravity.

    The torque  peak sin(pi t/span)^2  turns the crank.
    crank : its length; inertia about its hinge
    """

    rod: Beam
    crank: float
    inertia: float
    slider: float
    peak: float
    start: float = 0.7
    span: float = 1.0

    def torque(self, t):
        return self.peak * math.sin(math.pi * t / self.span) ** 2

    def assemble(self, s, elements):
        crank, p = s.crank(self)
        rod = s.beam(self.rod, p, -math.asin(p[1] / self.rod.length), elements)
        s.pinned(crank, self.crank, rod.nodes[0])
        slider = s.mass(rod.end, self.slider)
        s.joined(slider, rod.nodes[-1], (0,))
        s.hinge(rod.nodes[-1], only=(1,))


@dataclass(frozen=True, kw_only=True)
class FourBar:
    """A rigid crank and a rigid rocker, both balanced about their hinges, and a flexible coupler; no gravity.

    The torque  peak sin(pi t/span)^2  turns the crank. The rocker is hinged at (ground, 0), above the x axis.
    """

    coupler: Beam
    crank: float
    inertia: float
    rocker: float
    rocker_inertia: float
    ground: float
    peak: float
    start: float = 0.7
    span: float = 1.0

    def torque(self, t):
        return self.peak * math.sin(math.pi * t / self.span) ** 2

    @property
    def closed(self):
        """Where the coupler and the rocker meet as it begins."""
        a = self.crank * np.array([math.cos(self.start), math.sin(self.start)])
        d = np.array([self.ground, 0.0]) - a
        r, l = np.linalg.norm(d), self.coupler.length
        along = (l**2 - self.rocker**2 + r**2) / (2 * r)
        across = math.sqrt(l**2 - along**2)
        return a + d / r * along + np.array([-d[1], d[0]]) / r * across

    def assemble(self, s, elements):
        crank, p = s.crank(self)
        end = self.closed
        coupler = s.beam(self.coupler, p, math.atan2(*(end - p)[::-1]), elements)
        s.pinned(crank, self.crank, coupler.nodes[0])
        pivot = np.array([self.ground, 0.0])
        rocker = s.rigid(pivot, math.atan2(*(end - pivot)[::-1]), 1.0, self.rocker_inertia)
        s.hinge(rocker.node)
        s.pinned(rocker, self.rocker, coupler.nodes[-1])


@dataclass(frozen=True)
class _Cable:
    nodes: list
    elements: list
    beam: Beam
    end: np.ndarray


@dataclass(frozen=True)
class _Rigid:
    node: object
    body: object


class _Assembly:
    """A planar machine in Exudyn as it is put together."""

    def __init__(self):
        self.container = exu.SystemContainer()
        self.mbs = self.container.AddSystem()
        self.ground = self._marked(self.mbs.AddNode(ei.NodePointGround()), 0)
        self.cables, self.turning = [], None

    def _marked(self, node, coordinate):
        return self.mbs.AddMarker(ei.MarkerNodeCoordinate(nodeNumber=node, coordinate=coordinate))

    def beam(self, beam, start, angle, elements, gravity=0.0):
        way, each = np.array([math.cos(angle), math.sin(angle)]), beam.length / elements
        places = [np.array(start) + way * each * k for k in range(elements + 1)]
        nodes = [self.mbs.AddNode(ei.NodePoint2DSlope1(referenceCoordinates=[*p, *way])) for p in places]
        stiff = {"massPerLength": beam.mu, "bendingStiffness": beam.EI, "axialStiffness": beam.EA}
        parts = []
        for pair in pairwise(nodes):
            parts.append(self.mbs.AddObject(ei.ObjectANCFCable2D(length=each, nodeNumbers=list(pair), **stiff)))
            if gravity:
                whole = self.mbs.AddMarker(ei.MarkerBodyMass(bodyNumber=parts[-1]))
                self.mbs.AddLoad(ei.LoadMassProportional(markerNumber=whole, loadVector=[0, -gravity, 0]))
        cable = _Cable(nodes, parts, beam, places[-1])
        self.cables.append(cable)
        return cable

    def rigid(self, at, angle, mass, inertia):
        node = self.mbs.AddNode(ei.NodeRigidBody2D(referenceCoordinates=[*at, angle]))
        return _Rigid(node, self.mbs.AddObject(ei.ObjectRigidBody2D(mass=mass, inertia=inertia, nodeNumber=node)))

    def crank(self, machine):
        """The crank of a machine with its torque, and where its pin is."""
        crank = self.rigid((0, 0), machine.start, 1.0, machine.inertia)
        self.hinge(crank.node)
        self.torque(self.on_rigid(crank), machine.torque)
        self.turning = crank
        return crank, machine.crank * np.array([math.cos(machine.start), math.sin(machine.start)])

    def mass(self, at, mass):
        node = self.mbs.AddNode(ei.NodePoint2D(referenceCoordinates=list(at)))
        self.mbs.AddObject(ei.ObjectMassPoint2D(physicsMass=mass, nodeNumber=node))
        return node

    def joined(self, node, other, only=(0, 1)):
        """Two nodes at one place, in these coordinates."""
        for c in only:
            pair = [self._marked(node, c), self._marked(other, c)]
            self.mbs.AddObject(ei.ObjectConnectorCoordinate(markerNumbers=pair))

    def hinge(self, node, other=None, only=(0, 1)):
        if other is not None:
            return self.joined(node, other, only)
        for c in only:
            self.mbs.AddObject(ei.ObjectConnectorCoordinate(markerNumbers=[self.ground, self._marked(node, c)]))
        return None

    def pinned(self, rigid, length, node):
        """A node of a beam at the end of a crank."""
        pin = ei.MarkerBodyPosition(bodyNumber=rigid.body, localPosition=[length, 0, 0])
        pair = [self.mbs.AddMarker(pin), self.mbs.AddMarker(ei.MarkerNodePosition(nodeNumber=node))]
        self.mbs.AddObject(ei.ObjectJointRevolute2D(markerNumbers=pair))

    def weld(self, one, other):
        """Two sections that are at one place turn together and stay there."""
        joint = ei.ObjectJointGeneric(markerNumbers=[one, other], constrainedAxes=[1, 1, 0, 0, 0, 1])
        self.mbs.AddObject(joint)

    def on_rigid(self, rigid):
        return self.mbs.AddMarker(ei.MarkerBodyRigid(bodyNumber=rigid.body, localPosition=[0, 0, 0]))

    def root(self, cable):
        return self.mbs.AddMarker(ei.MarkerBodyRigid(bodyNumber=cable.elements[0], localPosition=[0, 0, 0]))

    def tip(self, cable):
        each = cable.beam.length / len(cable.elements)
        return self.mbs.AddMarker(ei.MarkerBodyRigid(bodyNumber=cable.elements[-1], localPosition=[each, 0, 0]))

    def torque(self, marker, function):
        load = ei.LoadTorqueVector(markerNumber=marker, loadVectorUserFunction=lambda mbs, t, load: [0, 0, function(t)])
        self.mbs.AddLoad(load)

    def watch(self, node, what=exu.OutputVariableType.Position):
        return self.mbs.AddSensor(ei.SensorNode(nodeNumber=node, storeInternal=True, outputVariableType=what))

    def watch_angle(self, cable):
        what = {"storeInternal": True, "outputVariableType": exu.OutputVariableType.Rotation}
        return self.mbs.AddSensor(ei.SensorBody(bodyNumber=cable.elements[0], localPosition=[0, 0, 0], **what))

    def told(self, sensor):
        return self.mbs.GetSensorStoredData(sensor)


def settings(span, step, damping=0.9, sample=SAMPLE):
    """Steps of the generalized-alpha method; damping is its spectral radius, 1 for none."""
    chosen = exu.SimulationSettings()
    chosen.solution.file.write = False
    chosen.solution.sensors.writePeriod = sample
    chosen.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    steps = chosen.timeIntegration
    steps.numberOfSteps, steps.endTime, steps.verboseMode = round(span / step), span, 0
    steps.adaptiveStep = False  # else a step whose residual is all rounding is halved again and again
    steps.generalizedAlpha.spectralRadius = damping
    steps.newton.useModifiedNewton = True
    steps.newton.relativeTolerance, steps.newton.absoluteTolerance = 1e-6, 1e-7  # tighter is below rounding
    return chosen


def run(machine, elements=16, step=2.5e-4, damping=0.9):
    """Move a machine in Exudyn."""
    s = _Assembly()
    machine.assemble(s, elements)
    roots = [s.watch(cable.nodes[0]) for cable in s.cables]
    middles = [s.watch(cable.nodes[elements // 2]) for cable in s.cables]
    tips = [s.watch(cable.nodes[-1]) for cable in s.cables]
    angles = [s.watch_angle(cable) for cable in s.cables]
    crank = s.turning and s.watch(s.turning.node, exu.OutputVariableType.Coordinates)
    s.mbs.Assemble()
    s.mbs.SolveDynamic(settings(machine.span, step, damping))
    t = s.told(tips[0])[:, 0]
    root, middle, tip = (np.stack([s.told(k)[:, 1:3] for k in kept], 1) for kept in (roots, middles, tips))
    turned = np.unwrap(np.stack([s.told(k)[:, -1] for k in angles], 1), axis=0)
    lengths = np.array([cable.beam.length for cable in s.cables])
    away, normal = tip - root, np.stack([-np.sin(turned), np.cos(turned)], -1)
    if s.turning:
        normal = np.stack([-away[..., 1], away[..., 0]], -1) / np.linalg.norm(away, axis=-1, keepdims=True)
        away = middle - root
    bent = (away * normal).sum(-1) / lengths
    turning = s.told(crank)[:, -1] + machine.start if s.turning else None
    return History(t=t, angles=turned, tips=tip, deflection=bent, crank=turning)


PENDULUM = Pendulum(beam=Beam(length=1.0, mu=1.0, EI=10.0))
ARM = Arm(
    beams=(Beam(length=1.0, mu=0.5, EI=60.0), Beam(length=0.8, mu=0.4, EI=20.0)),
    hubs=((1.0, 0.1), (0.5, 0.02)),
    tip=0.3,
    peaks=(4.0, 1.0),
)
SLIDER_CRANK = SliderCrank(
    rod=Beam(length=0.5, mu=0.4, EI=1.0),
    crank=0.15,
    inertia=0.02,
    slider=0.3,
    peak=1.0,
)
FOUR_BAR = FourBar(
    coupler=Beam(length=0.9, mu=0.4, EI=25.0),
    crank=0.3,
    inertia=0.05,
    rocker=0.7,
    rocker_inertia=0.05,
    ground=1.0,
    peak=3.0,
)


def softer(machine, by):
    """The same machine with beams that resist bending less."""
    changed = {}
    for field in fields(machine):
        value = getattr(machine, field.name)
        if isinstance(value, Beam):
            changed[field.name] = replace(value, EI=value.EI / by)
        elif isinstance(value, tuple) and isinstance(value[0], Beam):
            changed[field.name] = tuple(replace(beam, EI=beam.EI / by) for beam in value)
    return replace(machine, **changed)
