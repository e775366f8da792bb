"""What the equations of motion are in the parameters of inertia: linear.

    tau = Y(q, u, udot) theta + rest(q, u, udot)

theta are ten parameters of each rigid body, about its origin: mass, first moments, moments and products of inertia;
and, if asked for, armatures, dampers and friction of the joints. What is not among them is in the rest: springs, force
laws, bodies that deform. Only some combinations of theta act: base parameters, found by numbers.

Reference: Atkeson, An and Hollerbach, Estimation of inertial parameters of manipulator loads and links, IJRR 5 (1986);
Gautier, Numerical calculation of the base inertial parameters of robots, J. Robotic Systems 8 (1991).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.formulations.denoc import inverse_dynamics
from polhode.graph import (
    Expr,
    Matrix,
    as_expr,
    free_symbols,
    jacobian,
    matrix,
    sign,
    substitute,
    symbol,
    tanh,
    vector,
    zeros,
)
from polhode.kinematics import Kinematics
from polhode.model.errors import closest
from polhode.model.ten import inertia_of, named_for, standard
from polhode.spatial import Inertia

from .inputs import fresh

if TYPE_CHECKING:
    from .equations import Equations

OF_JOINTS = ("armature", "damping", "friction")
STATES = 4  # times as many equations as parameters are taken to find what acts
ACTS = 1e-9  # of a column of unit length, what must be left of it that others do not have


@dataclass(frozen=True, kw_only=True)
class Regressor:
    """tau = Y theta + rest, kinetic and potential energy = energy theta + those of the rest.

    names  : of theta, (k,)
    theta  : what the model has for them, expressions, (k,)
    Y      : (nu, k); rest : (nu,); of q, u, udot
    energy : (2, k), of q, u
    udot   : symbols of the accelerations, (nu,)
    """

    equations: Equations
    names: tuple[str, ...]
    theta: tuple[Expr, ...]
    Y: Matrix
    rest: Matrix
    energy: Matrix
    udot: Matrix

    def compile(self, what: str = "Y", values: Mapping[Any, Any] | None = None) -> Any:
        """The call (q, u, udot) -> "Y", (..., nu, k), or "rest", (..., nu); or (q, u) -> "energy", (..., 2, k).

        values : of parameters of the model that are not among theta
        """
        if what not in ("Y", "rest", "energy"):
            raise ValueError(f"There is no {what!r:.40} of a regressor. {closest(what, ('Y', 'rest', 'energy'))}")
        eq = self.equations
        inputs = {"q": eq.q, "u": eq.u} | ({} if what == "energy" else {"udot": self.udot})
        return eq.compile(values)._compile(f"regressor_{what}", inputs, getattr(self, what))

    def base(self, values: Mapping[Any, Any] | None = None, seed: int = 1) -> BaseParameters:
        """The combinations of theta that act, found from Y at states drawn at random.

        values : of parameters of the model that Y depends on, lengths for instance
        """
        eq = self.equations
        call = self.compile(values=values)
        draw, count = np.random.default_rng(seed), -(-STATES * len(self.names) // max(len(eq.u), 1)) + 10
        q, u, udot = (draw.uniform(-2, 2, (count, len(part))) for part in (eq.q, eq.u, eq.u))
        q = np.asarray(eq.compile(values).unit(q))
        return _base(self, call(q, u, udot).reshape(-1, len(self.names)))

    def __repr__(self) -> str:
        return (
            f"Regressor of {self.equations.model.name!r}: {len(self.names)} parameters, {len(self.equations.u)} forces"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class BaseParameters:
    """Y theta = Y[:, columns] (matrix theta): the least that tells all motions of a machine.

    columns : of Y that are independent, (r,)
    matrix  : (r, k), 1 at `columns`
    names   : of all parameters, (k,)
    idle    : names of the parameters that nothing depends on
    """

    columns: tuple[int, ...]
    matrix: np.ndarray
    names: tuple[str, ...]
    idle: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Each base parameter as a sum of parameters."""
        return tuple(_sum(row, column, self.names) for row, column in zip(self.matrix, self.columns, strict=True))

    def __repr__(self) -> str:
        return "\n".join([f"{len(self)} base parameters of {len(self.names)}:", *(f"  {text}" for text in self.texts)])


def regressor(eq: Equations, joints: Iterable[str] = ()) -> Regressor:
    """The regressor of equations in the speeds of the joints. See `Equations.regressor`."""
    kin = eq.kinematics
    if kin is not kin.joints or not isinstance(kin, Kinematics):
        raise ValueError(
            f"Model {eq.model.name!r}: a regressor is in the speeds of the joints, found {eq.method!r} with others. "
            'Take formulate(model, "denoc").regressor().'
        )
    wanted = (joints,) if isinstance(joints, str) else tuple(joints)
    for name in wanted:
        if name not in OF_JOINTS:
            raise ValueError(f"joints: there is no {name!r:.40} of joints. {closest(name, OF_JOINTS)}")
    free, symbols, known = _named(kin, "armature" in wanted)
    udot = fresh("udot", eq)
    needed, energies = inverse_dynamics(free, udot), _energies(free)
    nothing = dict.fromkeys(symbols, as_expr(0))
    Y, rest = jacobian(needed, symbols), substitute(needed, nothing) - eq.Q
    assert not free_symbols(Y) & {*symbols}, "the equations are linear in parameters of inertia"
    names, theta, columns = [*known], [*known.values()], [*Y.T.rows()]
    for name, value, column, acts in _losses(kin, wanted):
        names, theta, columns = [*names, name], [*theta, value], [*columns, column]
        rest = rest - column * value if acts else rest
    energy = jacobian(energies, symbols)
    still = zeros(2, len(names) - len(symbols))
    return Regressor(
        equations=eq,
        names=tuple(names),
        theta=tuple(theta),
        Y=matrix(columns).T if columns else zeros(len(udot), 0),
        rest=rest,
        energy=matrix([[*row, *none] for row, none in zip(energy.rows(), still.rows(), strict=True)]),
        udot=udot,
    )


def _named(kin: Kinematics, armatures: bool) -> tuple[Kinematics, list[Expr], dict[str, Expr]]:
    """The same with symbols for inertias of rigid bodies, and if asked for of armatures; what they stand for."""
    carried = {k: name for name, k in kin.carriers.items()}
    rotors = {body.name for body in kin.model.bodies if body.rotor}
    known: dict[str, Expr] = {}
    links = []
    for k, link in enumerate(kin.links):
        inertia, armature = link.inertia, link.armature
        if k in carried and link.modes is None and inertia != Inertia.zero() and carried[k] not in rotors:
            own = dict(zip(named_for(carried[k]), standard(inertia), strict=True))
            known |= own
            inertia = inertia_of([_symbol(name) for name in own])
        if armatures and not link.section:
            own = {f"armature_{kin.u[i].value}": e for i, e in zip(link.at, armature, strict=True)}
            known |= own
            armature = tuple(_symbol(name) for name in own)
        links.append(replace(link, inertia=inertia, armature=armature))
    return replace(kin, links=tuple(links)), [_symbol(name) for name in known], known


def _symbol(name: str) -> Expr:
    return symbol(f"inertial {name}")


def _energies(kin: Kinematics) -> Matrix:
    """Kinetic energy of the rigid bodies and armatures, and potential energy of gravity."""
    kinetic, potential = as_expr(0), as_expr(0)
    for link, V, X in zip(kin.links, kin.V, kin.poses, strict=True):
        kinetic = kinetic + V.dot(link.inertia @ V) / 2
        for a, u in zip(link.armature, link.speeds, strict=True):
            kinetic = kinetic + a * u**2 / 2
        potential = potential - kin.model.gravity @ (X.R @ link.inertia.h + X.p * link.inertia.m)
    return vector([kinetic, potential])


def _losses(kin: Kinematics, wanted: Iterable[str]) -> list[tuple[str, Expr, Matrix, bool]]:
    """Dampers and friction of the joints: name, what the model has, column, whether it is among the model's forces."""
    found = []
    for body in kin.model.bodies:
        joint = body.joint
        for k, name in enumerate(joint.speeds()):
            u, smooth = symbol(name), joint.friction_speed != 0
            of = {
                "damping": (joint.damping, u, True),
                "friction": (joint.friction, tanh(u / joint.friction_speed) if smooth else sign(u), smooth),
            }
            for kind in OF_JOINTS[1:]:
                values, law, acts = of[kind]
                if kind in wanted:
                    column = vector([law if s == u else as_expr(0) for s in kin.u])
                    value = as_expr(values[k]) if k < len(values) else as_expr(0)
                    found.append((f"{kind}_{name}", value, column, acts and joint.passive))
    return found


def _base(regressor: Regressor, stacked: np.ndarray) -> BaseParameters:
    """Independent columns, the first first: what acts the same further in is counted there."""
    k = len(regressor.names)
    size = np.linalg.norm(stacked, axis=0)
    acting = [j for j in range(k) if size[j] > ACTS * size.max(initial=0)]
    basis = np.zeros((len(stacked), 0))
    columns: list[int] = []
    for j in acting:
        rest = stacked[:, j] / size[j]
        for _ in range(2):  # once more for what rounding left
            rest = rest - basis @ (basis.T @ rest)
        if (left := np.linalg.norm(rest)) > ACTS:
            basis = np.column_stack([basis, rest / left])
            columns.append(j)
    scaled = stacked[:, columns] / size[columns]
    found = np.linalg.lstsq(scaled, stacked, rcond=None)[0] / size[columns][:, None]
    found[np.abs(found) < 1e-9 * np.abs(found).max(initial=0)] = 0.0
    found[:, columns] = np.eye(len(columns))
    return BaseParameters(
        columns=tuple(columns), matrix=found, names=regressor.names,
        idle=tuple(regressor.names[j] for j in range(k) if j not in acting),
    )  # fmt: skip


def _sum(row: np.ndarray, column: int, names: tuple[str, ...]) -> str:
    parts = [names[column]]
    for j in np.flatnonzero(row):
        if j != column:
            size = "" if abs(abs(row[j]) - 1) < 1e-9 else f"{abs(row[j]):.6g}*"
            parts.append(f"{'-' if row[j] < 0 else '+'} {size}{names[j]}")
    return " ".join(parts)
