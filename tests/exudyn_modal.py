"""Beams with modes in Exudyn: its reduced-order flexible body (floating frame, component modes), without a mesh.

It takes the nodes of a mesh, their masses and the displacements of modes there. A beam's axis at the points of
Lobatto's rule, with their weights as masses, gives every integral of the inertia exactly; the stiffness is that of the
modes themselves. Displacements are linear in the amplitudes, so this is Polhode's order "full". Gravity acts on the
nodes: its own load of gravity on such a body (1.13) acts where the centre of mass would be without deflection. Three
angles turn the frame, enough for what moves in a plane; in space its equations with them (1.13) are not right.

Reference: A. Zwoelfer, J. Gerstmayr, The nodal-based floating frame of reference formulation with modal reduction,
Acta Mechanica 232 (2021) 835-851.
"""

import math

import exudyn as exu
import exudyn.itemInterface as ei  # noqa: N813 - as its examples have it
import numpy as np
from exudyn.FEM import FEMinterface, ObjectFFRFreducedOrderInterface
from exudyn.utilities import CreateSymbolicUserFunction
from scipy.sparse import diags

from tests.beam_machines import History
from tests.beam_shapes import lobatto, shapes

POINTS = 12
ASIDE = 0.05  # of the length: where nodes without mass tell how the section at the tip turns


class Body:
    """A beam in Exudyn with polynomial modes in its plane, on a frame where it begins."""

    def __init__(self, mbs, beam, modes, at, angle, gravity=0.0, hub=None, tip=0.0, rotation="Rxyz"):
        L, kept = beam.length, shapes(modes)
        x, w = lobatto(POINTS)
        masses = beam.mu * L * w
        masses[-1] += tip
        axis = np.stack([L * x, 0 * x, 0 * x], 1)
        aside = ASIDE * L * np.array([[0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
        places = np.concatenate([axis, axis[-1] + aside])
        basis = np.zeros((len(places), 3, modes))
        for k, f in enumerate(kept):
            basis[:POINTS, 1, k] = L * f(x)  # amplitudes are parts of the length
            basis[POINTS:, 1, k] = L * f(1)
            basis[POINTS:, 0, k] = -f.deriv()(1) * aside[:, 1]
        fem = FEMinterface()
        fem.nodes = {"Position": places}
        fem.modeBasis = {"matrix": basis.reshape(-1, modes), "type": "NormalModes"}
        weight = np.repeat(np.concatenate([masses, np.zeros(4)]), 3)
        fem.massMatrix = fem.stiffnessMatrix = diags(weight).tocsr()  # its stiffness is given below
        reduced = ObjectFFRFreducedOrderInterface(fem, rigidBodyNodeType=f"NodeType.Rotation{rotation}")
        bent = [[(f.deriv(2) * g.deriv(2)).integ()(1) for g in kept] for f in kept]
        reduced.stiffnessMatrixReduced = beam.EI / L * np.array(bent)
        reduced.inertiaLocal = reduced.inertiaLocal + np.diag([1e-2, 0, 0])  # about itself, where nothing turns
        turned = np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1]])
        made = reduced.AddObjectFFRFreducedOrder(mbs, positionRef=[*at, 0], rotationMatrixRef=turned)
        self.mbs, self.node, self.body = mbs, made["nRigidBody"], made["oFFRFreducedOrder"]
        for k in range(POINTS if gravity else 0):
            point = ei.MarkerSuperElementPosition(bodyNumber=self.body, meshNodeNumbers=[k], weightingFactors=[1.0])
            weight = [0, -gravity * masses[k], 0]
            mbs.AddLoad(ei.LoadForceVector(markerNumber=mbs.AddMarker(point), loadVector=weight))
        self.length, self.at_tip = L, list(range(POINTS, POINTS + 4))
        if hub:
            J = ei.ObjectRigidBody(mass=hub[0], inertia=[hub[1], hub[1], hub[1], 0, 0, 0], nodeNumber=self.node)
            mbs.AddObject(J)

    def root(self):
        return self.mbs.AddMarker(ei.MarkerNodeRigid(nodeNumber=self.node))

    def tip(self):
        nodes = {"meshNodeNumbers": self.at_tip, "weightingFactors": [0.25] * 4}
        return self.mbs.AddMarker(ei.MarkerSuperElementRigid(bodyNumber=self.body, **nodes))

    def watch(self):
        """Sensors of where the tip is and how the frame is turned."""
        position, rotation = exu.OutputVariableType.Position, exu.OutputVariableType.RotationMatrix
        tip = ei.SensorSuperElement(
            bodyNumber=self.body, meshNodeNumber=POINTS - 1, storeInternal=True, outputVariableType=position
        )
        frame = ei.SensorNode(nodeNumber=self.node, storeInternal=True, outputVariableType=rotation)
        return self.mbs.AddSensor(tip), self.mbs.AddSensor(frame)


def hinge(mbs, one, other):
    """A joint about z."""
    mbs.AddObject(ei.ObjectJointGeneric(markerNumbers=[one, other], constrainedAxes=[1, 1, 1, 1, 1, 0]))


def torque(mbs, marker, peak, span):
    """Exert  peak sin(2 pi t/span)  about z, as an expression that it evaluates without Python."""

    def law(mbs, t, load):
        return exu.symbolic.sin(2 * math.pi / span * t) * load

    load = mbs.AddLoad(ei.LoadTorqueVector(markerNumber=marker, loadVector=[0, 0, peak], loadVectorUserFunction=law))
    made = CreateSymbolicUserFunction(mbs, law, "loadVectorUserFunction", load)
    mbs.SetLoadParameter(load, "loadVectorUserFunction", made)


def ground(mbs):
    return mbs.AddMarker(ei.MarkerBodyRigid(bodyNumber=mbs.AddObject(ei.ObjectGround()), localPosition=[0, 0, 0]))


def pendulum(machine, modes, rotation="Rxyz"):
    mbs = exu.SystemContainer().AddSystem()
    body = Body(mbs, machine.beam, modes, (0, 0), 0.0, machine.gravity, rotation=rotation)
    hinge(mbs, ground(mbs), body.root())
    return mbs, [body]


def arm(machine, modes, rotation="Rxyz"):
    mbs = exu.SystemContainer().AddSystem()
    first, second = machine.start[0], sum(machine.start)
    elbow = machine.beams[0].length * np.array([math.cos(first), math.sin(first)])
    upper = Body(mbs, machine.beams[0], modes, (0, 0), first, hub=machine.hubs[0], rotation=rotation)
    lower = Body(mbs, machine.beams[1], modes, elbow, second, hub=machine.hubs[1], tip=machine.tip, rotation=rotation)
    hinge(mbs, ground(mbs), upper.root())
    hinge(mbs, upper.tip(), lower.root())
    torque(mbs, upper.root(), machine.peaks[0], machine.span)
    torque(mbs, upper.tip(), -machine.peaks[1], machine.span)
    torque(mbs, lower.root(), machine.peaks[1], machine.span)
    return mbs, [upper, lower]


def run(made, settings):
    """Move what `pendulum` or `arm` made."""
    mbs, bodies = made
    watched = [body.watch() for body in bodies]
    mbs.Assemble()
    mbs.SolveDynamic(settings)
    told = [[mbs.GetSensorStoredData(s) for s in pair] for pair in watched]
    tips = np.stack([tip[:, 1:3] for tip, _ in told], 1)
    angles = np.unwrap(np.stack([np.arctan2(R[:, 4], R[:, 1]) for _, R in told], 1), axis=0)
    return History(t=told[0][0][:, 0], angles=angles, tips=tips, deflection=np.empty(0))
