"""Planar machines with flexible beams in Exudyn: cables that bend as far as they like (ANCF), as references.

They do not shear, and stretch by less than what is compared: EA is large. `run` moves a machine of
`beam_machines.py` with as many elements a beam and such steps as are asked for.

Reference: J. Gerstmayr, H. Irschik, On the correct representation of bending and axial deformation in the absolute
nodal coordinate formulation with an elastic line approach, J. Sound Vib. 318 (2008) 461-487: its ObjectANCFCable2D.
"""

import math
from dataclasses import dataclass
from functools import singledispatch
from itertools import pairwise

import exudyn as exu
import exudyn.itemInterface as ei  # noqa: N813 - as its examples have it
import numpy as np

from tests.beam_machines import SAMPLE, Arm, Beam, FourBar, History, Pendulum, SliderCrank, deflection


@singledispatch
def assemble(machine, s, elements):
    """Put a machine together."""
    raise TypeError(machine)


@assemble.register
def _(machine: Pendulum, s, elements):
    beam = s.beam(machine.beam, (0, 0), 0.0, elements, machine.gravity)
    s.hinge(beam.nodes[0])


@assemble.register
def _(machine: Arm, s, elements):
    first, second = machine.start[0], sum(machine.start)
    p = machine.beams[0].length * np.array([math.cos(first), math.sin(first)])
    upper = s.beam(machine.beams[0], (0, 0), first, elements)
    lower = s.beam(machine.beams[1], p, second, elements)
    hubs = [s.rigid(at, a, *hub) for at, a, hub in zip([(0, 0), p], (first, second), machine.hubs, strict=True)]
    s.hinge(hubs[0].node)
    s.hinge(upper.nodes[-1], lower.nodes[0])
    for hub, beam in zip(hubs, (upper, lower), strict=True):
        s.weld(s.on_rigid(hub), s.root(beam))
    s.joined(s.mass(lower.end, machine.tip), lower.nodes[-1])
    s.torque(s.on_rigid(hubs[0]), lambda t: machine.torque(0, t))
    s.torque(s.on_rigid(hubs[1]), lambda t: machine.torque(1, t))
    s.torque(s.tip(upper), lambda t: -machine.torque(1, t))


@assemble.register
def _(machine: SliderCrank, s, elements):
    crank, p = s.crank(machine)
    rod = s.beam(machine.rod, p, -math.asin(p[1] / machine.rod.length), elements)
    s.pinned(crank, machine.crank, rod.nodes[0])
    slider = s.mass(rod.end, machine.slider)
    s.joined(slider, rod.nodes[-1], (0,))
    s.hinge(rod.nodes[-1], only=(1,))


@assemble.register
def _(machine: FourBar, s, elements):
    crank, p = s.crank(machine)
    end = machine.closed
    coupler = s.beam(machine.coupler, p, math.atan2(*(end - p)[::-1]), elements)
    s.pinned(crank, machine.crank, coupler.nodes[0])
    pivot = np.array([machine.ground, 0.0])
    rocker = s.rigid(pivot, math.atan2(*(end - pivot)[::-1]), 1.0, machine.rocker_inertia)
    s.hinge(rocker.node)
    s.pinned(rocker, machine.rocker, coupler.nodes[-1])


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
        self.ground = self.marked(self.mbs.AddNode(ei.NodePointGround()), 0)
        self.cables, self.turning = [], None

    def marked(self, node, coordinate):
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
        self.mbs.AddObject(ei.ObjectMassPoint2D(mass=mass, nodeNumber=node))
        return node

    def joined(self, node, other, only=(0, 1)):
        """Two nodes at one place, in these coordinates."""
        for c in only:
            pair = [self.marked(node, c), self.marked(other, c)]
            self.mbs.AddObject(ei.ObjectConnectorCoordinate(markerNumbers=pair))

    def hinge(self, node, other=None, only=(0, 1)):
        if other is not None:
            return self.joined(node, other, only)
        for c in only:
            self.mbs.AddObject(ei.ObjectConnectorCoordinate(markerNumbers=[self.ground, self.marked(node, c)]))
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


def settings(span, step, damping=0.9, sample=SAMPLE, tolerance=1e-6):
    """Steps of the generalized-alpha method; damping is its spectral radius, 1 for none.

    tolerance : of Newton's iterations; much below 1e-6 is rounding where beams hardly stretch
    """
    chosen = exu.SimulationSettings()
    chosen.solution.file.write = False
    chosen.solution.sensors.writePeriod = sample
    chosen.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    steps = chosen.timeIntegration
    steps.numberOfSteps, steps.endTime, steps.verboseMode = round(span / step), span, 0
    steps.adaptiveStep = False  # else a step whose residual is all rounding is halved again and again
    steps.generalizedAlpha.spectralRadius = damping
    steps.newton.useModifiedNewton = True
    steps.newton.relativeTolerance, steps.newton.absoluteTolerance = tolerance, tolerance / 10
    return chosen


def run(machine, elements=16, step=2.5e-4, damping=0.9):
    """Move a machine in Exudyn."""
    s = _Assembly()
    assemble(machine, s, elements)
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
    bent = deflection(root, middle, tip, turned, lengths, held=s.turning is not None)
    turning = s.told(crank)[:, -1] + machine.start if s.turning else None
    return History(t=t, angles=turned, tips=tip, deflection=bent, crank=turning)


def spin_up(case, until, elements=16, step=5e-3):
    """A beam on a hub that turns by a law: times, and how far its tip is from the tangent at the root [m]."""
    s = _Assembly()
    beam = Beam(length=case.length, mu=case.mu, EI=case.EI, EA=case.EA)
    cable, hub = s.beam(beam, (0, 0), 0.0, elements), s.rigid((0, 0), 0.0, 1.0, 1.0)
    s.hinge(hub.node)
    s.weld(s.on_rigid(hub), s.root(cable))
    turned = {"offsetUserFunction": lambda mbs, t, item, offset: float(case.angle(t))}
    pair = [s.ground, s.marked(hub.node, 2)]
    s.mbs.AddObject(ei.ObjectConnectorCoordinate(markerNumbers=pair, **turned))
    tip = s.watch(cable.nodes[-1])
    s.mbs.Assemble()
    s.mbs.SolveDynamic(settings(until, step, sample=0.05, tolerance=1e-4))
    t, x, y, _ = s.told(tip).T
    return t, np.cos(case.angle(t)) * y - np.sin(case.angle(t)) * x
