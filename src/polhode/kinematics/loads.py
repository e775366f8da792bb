"""The force laws of a model: their energies, and the forces along the joints that they make.

Every formulation reads the laws here. `applied_forces` brings them to the joints for
"poincare" and "denoc"; Lagrange's and Kane's equations do that in ways of their own.
"""

from __future__ import annotations

from polhode.graph import Expr, Matrix, as_expr, gradient, matrix, sqrt, symbol, tanh, vector, zeros
from polhode.model import MarkerWrench, Model, Potential, SpeedForce, SpringDamper
from polhode.spatial import Pose, Wrench

from .compliant import compliant_energy, compliant_loads, stop_forces
from .motion import Motion
from .tree import Kinematics


def elastic_energy(kin: Motion) -> Expr:
    """Potential energy of joint springs, of bodies that deform and of the potentials the user gave.

    Of a body with modes it is d^T K d / 2. Reference: [Book, eq. 46].
    """
    total = as_expr(0)
    for body in kin.model.bodies:
        joint = body.joint
        if body.flexible is not None:
            d = vector([symbol(name) for name in body.modes])
            total = total + d @ (body.flexible.stiffness @ d) / 2
        if joint.passive:
            for name, k, rest in zip(joint.coordinates(), joint.stiffness, joint.rest, strict=False):
                total = total + k * (symbol(name) - rest) ** 2 / 2
    for force in kin.model.forces:
        if isinstance(force, Potential):
            total = total + force.energy
    return total


def spring_energy(kin: Motion) -> Expr:
    """Potential energy of the springs between markers, k (l - length)^2 / 2, and of contacts that yield."""
    total = compliant_energy(kin)
    for force in kin.model.forces:
        if isinstance(force, SpringDamper) and force.stiffness != 0:
            p_AB = kin.pose(force.ends[1]).p - kin.pose(force.ends[0]).p
            stretch2 = p_AB @ p_AB if force.length == 0 else (sqrt(p_AB @ p_AB) - force.length) ** 2
            total = total + force.stiffness * stretch2 / 2
    return total


def speed_forces(kin: Motion) -> list[tuple[str, Expr]]:
    """Forces that belong to one speed: dampers and friction of the joints, of modes, and what the user gave.

    Friction with a friction_speed is smoothed, -f tanh(u / friction_speed); other friction is a brake of the model.
    """
    found: list[tuple[str, Expr]] = []
    for body in kin.model.bodies:
        joint = body.joint
        rows = zip(joint.speeds(), joint.damping, joint.friction, strict=False) if joint.passive else ()
        for name, d, f in rows:
            law = -(d * symbol(name))
            if f != 0 and joint.friction_speed != 0:
                law = law - f * tanh(symbol(name) / joint.friction_speed)
            found.append((name, law))
        if body.flexible is not None:
            names = body.speeds[-len(body.modes) :]
            found += zip(names, body.flexible.damping @ -vector([symbol(name) for name in names]), strict=True)
    found += [(force.speed, force.value) for force in kin.model.forces if isinstance(force, SpeedForce)]
    return [(name, law) for name, law in found if law != 0]


def damping_matrix(kin: Motion) -> Matrix:
    """The damping of the joints and modes on the speeds, D = sum_ij d_ij grad(v_i) grad(v_j)^T, (nu, nu).

    v_j are the speeds that the model names; where u are these, and no modes are damped together, D is diagonal.
    """
    total = zeros(len(kin.u), len(kin.u))
    for one, other, d in damped(kin.model):
        along, across = (gradient(kin.named_speed(name), kin.u) for name in (one, other))
        total = total + matrix([[d * a * b for b in across] for a in along])
    return total


def damped(model: Model) -> list[tuple[str, str, Expr]]:
    """The pairs of speeds that dampers of joints and modes act between, and their coefficients; joints' are single."""
    joints = [body.joint for body in model.bodies if body.joint.passive]
    found = [(name, name, d) for joint in joints for name, d in zip(joint.speeds(), joint.damping, strict=False)]
    for body in model.bodies:
        if body.flexible is not None:
            names = body.speeds[-len(body.modes) :]
            rows = zip(names, body.flexible.damping.rows(), strict=True)
            found += [(a, b, d) for a, row in rows for b, d in zip(names, row, strict=True)]
    return [(a, b, d) for a, b, d in found if d != 0]


def applied_forces(kin: Kinematics) -> Matrix:
    """Bring the model's force laws to the speeds: Q_k = h_k . (sum of wrenches beyond).

    Returns Q : (nu,).
    """
    wrenches = [Wrench.zero() for _ in kin.links]
    for force in kin.model.forces:
        if isinstance(force, MarkerWrench):
            _press(kin, wrenches, force.marker, force.force, force.torque, in_world=force.axes == "world")
        elif isinstance(force, SpringDamper):
            pull = _pull(kin, force)
            _press(kin, wrenches, force.ends[0], pull, zeros(3), in_world=True)
            _press(kin, wrenches, force.ends[1], -pull, zeros(3), in_world=True)
    for marker, torque, pushed in compliant_loads(kin):
        _press(kin, wrenches, marker, pushed, torque, in_world=True)
    for k in reversed(range(len(wrenches))):
        link = kin.links[k]
        if link.parent >= 0:
            wrenches[link.parent] = wrenches[link.parent] + link.X @ wrenches[k]
    Q: list[Expr] = [as_expr(0)] * len(kin.u)
    for link, F in zip(kin.links, wrenches, strict=True):
        for i, h in enumerate(link.H):
            Q[link.at[i]] = Q[link.at[i]] + h.dot(F)
    index = {u.value: i for i, u in enumerate(kin.u)}
    for name, law in speed_forces(kin):
        Q[index[name]] = Q[index[name]] + law
    on_q, energy = [as_expr(0)] * len(kin.q), elastic_energy(kin)
    for i, push in stop_forces(kin):
        on_q[i] = on_q[i] + push
    along: Matrix = vector(on_q) - gradient(energy, kin.q) if energy != 0 else vector(on_q)
    return vector(Q) if along == zeros(len(on_q)) else vector(Q) + kin.pulled(along)


def _press(kin: Kinematics, wrenches: list[Wrench], marker: str, force: Matrix, torque: Matrix, in_world: bool) -> None:
    """Add a force and torque at a marker to the wrench on its link."""
    k, X_LM = kin.frame(marker)
    if k < 0:
        return
    R_LW = kin.X_W[k].R.T if in_world else X_LM.R
    wrenches[k] = wrenches[k] + Pose.at(X_LM.p) @ Wrench(R_LW @ torque, R_LW @ force)


def _pull(kin: Kinematics, spring: SpringDamper) -> Matrix:
    """The force of a spring and damper on its first end, in the world."""
    a, b = spring.ends
    p_AB = kin.pose(b).p - kin.pose(a).p
    if spring.length == 0 and spring.damping == 0:
        return p_AB * spring.stiffness  # no length to divide by
    l = sqrt(p_AB @ p_AB)
    along: Matrix = p_AB / l
    tension = spring.stiffness * (l - spring.length)
    if spring.damping != 0:
        tension = tension + spring.damping * (along @ (kin.velocity(b).v - kin.velocity(a).v))
    return along * tension
