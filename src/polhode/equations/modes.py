"""The modes of a machine whose constraints come and go, each with equations of its own.

In a mode some rows hold, some slide, the others do nothing. What holds is embedded: its speeds are
eliminated from the equations of motion. What slides by a capacity of its own is a force.

    qdot = W(q) u + X          u : the speeds that are independent in the mode, v = G u + g those of the joints
    M(q) udot + c(q, u) = Q + G^T (tau + J_s^T lam_s)
    J^T lam = M vdot + c - Q - tau - J_s^T lam_s   in the speeds of the joints: reactions of what holds

Reference: [Gillespie, section 4]: the finite state machine in which each mode has its own equations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from polhode.compile import Function
from polhode.graph import (
    Expr,
    Matrix,
    as_expr,
    diff_along,
    free_symbols,
    identity,
    jacobian,
    op_counts,
    sqrt,
    substitute,
    symbol,
    vector,
    zeros,
)
from polhode.kernels.machine import FLOW, Machine
from polhode.kernels.mode import CLOSED, EQUAL, HELD, NOTHING, OFF, OPENED, SLIDES, SLIPPED, STUCK, TANGENT, UNILATERAL
from polhode.kinematics import InSpeeds
from polhode.kinematics.eliminate import eliminate
from polhode.kinematics.generic import generic_points
from polhode.model import TIME, Body, Model, Relation
from polhode.model.switched import Commanded

from .dynamics import Dynamics, accelerations
from .formulate import formulate
from .program import Program

POOR = 30.0  # the most that dependent speeds may grow by, in units of their inertia: beyond, others were better
_ZERO = as_expr(0)


class NotEmbeddedError(ValueError):
    """A mode that has no equations of its own: why."""


class ModeProgram(Program):
    """Native code of the motion in one mode, with the speeds that are independent there.

    whole : the program of all modes; its parameters, forces, and what its states beside motion are, are those of this
    rows  : what each row does, OFF, HELD or SLIDES
    """

    def __init__(self, whole: Program, rows: Sequence[int]) -> None:
        self.whole_program, self.modes = whole, tuple(rows)
        eq = whole.equations
        if eq.kinematics is not eq.kinematics.joints:
            raise NotEmbeddedError("the equations are not in the speeds of the joints")
        if whole.stepping:
            raise NotEmbeddedError("dampers of its joints are implicit in steps of Euler's method")
        _refuse_friction(self)
        model = _bilateral(whole, [i for i, mode in enumerate(rows) if mode == HELD])
        try:
            found = formulate(model, embed=True) if model.constraints else formulate(model, eq.method)
        except (ValueError, ZeroDivisionError) as error:
            raise NotEmbeddedError(str(error)) from None
        super().__init__(Dynamics(found, {}))
        self._folded = dict(whole.dynamics.values)
        self.tau, self.work = whole.tau, whole.work
        self.x = vector([*found.q, *found.u, *found.z, *whole.x[len(whole.x) - len(whole.work) :]])
        repeated = found.kinematics.speeds.repeated if isinstance(found.kinematics, InSpeeds) else ()
        if self.reacting and len(repeated):
            raise NotEmbeddedError("rows repeat others, so reactions are not determined")

    # speeds

    @cached_property
    def joint_speeds(self) -> dict[Expr, Expr]:
        """v = G u + g, by symbol."""
        quasi, v = self.equations.kinematics.quasi, self.whole_program.equations.u
        return {s: quasi.get(s, s) for s in v}

    def _seen(self, e: Any) -> Any:
        """An expression of the whole machine, in the speeds of the mode."""
        return substitute(e, self._known)

    @cached_property
    def _known(self) -> dict[Expr, Expr]:
        quasi = self.whole_program.equations.kinematics.quasi
        found = {s: substitute(e, self.joint_speeds) for s, e in quasi.items()}
        return {s: e for s, e in (found | self.joint_speeds).items() if s is not e}

    @property
    def places(self) -> list[int]:
        """Where the entries of its state are in that of the whole machine."""
        there = {s: i for i, s in enumerate(self.whole_program.x)}
        return [there[s] for s in self.x]

    # forces

    @property
    def slips(self) -> Matrix:
        """The directions in which rows slide, +1 or -1, (m,)."""
        return vector([symbol(f"direction of row {i}") for i in range(len(self.modes))])

    @cached_property
    def _pushed(self) -> Matrix:
        """Forces from outside and of what slides, on the speeds of the joints."""
        whole = self.whole_program
        total = whole.forces
        for i, lam in self._sliding.items():
            total = total + whole.constraints.J[i] * lam
        found: Matrix = self._seen(total)
        return found

    @cached_property
    def _sliding(self) -> dict[int, Expr]:
        """The reactions of rows that slide."""
        laws = self.whole_program.row_laws
        return {i: -laws[i].bound * self.slips[i] for i, mode in enumerate(self.modes) if mode == SLIDES}

    # native code

    @cached_property
    def motion(self) -> list[Expr]:
        """The rate of its state as expressions."""
        eq, whole = self.equations, self.whole_program
        v = vector([self.joint_speeds[s] for s in whole.equations.u])
        udot: list[Expr] = []
        if len(eq.u):
            G = jacobian(v, eq.u)
            udot = [*accelerations(eq, G.T @ self._pushed)]
        powers = {name: self._seen(e) for name, e in whole._powers.items()}
        if "losses" in whole.work:
            psi = self._seen(whole.constraints.psi)
            powers["losses"] = sum((lam * psi[i] for i, lam in self._sliding.items()), _ZERO)
        if "constraints" in whole.work:
            powers["constraints"] = self._moved_by(vector(udot) if udot else zeros(0))
        return [*eq.kinematics.q_dot, *udot, *eq.z_dot, *(powers[name] for name in whole.work)]

    def _moved_by(self, udot: Matrix) -> Expr:
        """The power of constraints that move by themselves."""
        moving = self.whole_program._acting.moving
        wanted = {i: lam for i, lam in self.reactions(udot).items() if moving[i] != 0}
        return sum((lam * self._seen(moving[i]) for i, lam in wanted.items()), _ZERO)

    @cached_property
    def flow(self) -> Function | None:
        return self.compiled("flow", self.motion, forced=True)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Operations of the rate of its state, by kind."""
        rows = vector(self.motion)
        return op_counts(substitute(rows, self._folded) if self._folded else rows)

    @property
    def operations(self) -> int:
        """Operations of the rate of its state."""
        return sum(self.counts.values())

    @cached_property
    def lift(self) -> Function:
        """The call (t, x, p) -> the state of the whole machine."""
        return self.compiled("lift", [self.joint_speeds.get(s, s) for s in self.whole_program.x])

    @cached_property
    def parameters(self) -> list[Expr]:
        """What its code takes as p: that of the whole machine, directions of slides, forces."""
        whole = self.whole_program
        return [*whole.given_as(False), *self.slips, *whole.tau]

    def completed(self, p: Any) -> np.ndarray:
        return np.zeros(len(self.parameters)) if p is None else np.asarray(p, dtype=float)

    def given_as(self, forced: bool) -> list[Expr]:
        p = self.parameters  # forces have other names where they are beside them, and are not used
        return [*p[: len(p) - len(self.tau)], *(symbol(f"force {i}") for i in range(len(self.tau)))] if forced else p

    # what ends it

    @cached_property
    def reacting(self) -> bool:
        """Whether it ends where a reaction says so."""
        laws = self.whole_program.row_laws
        return any(m == HELD and law.kind != EQUAL for m, law in zip(self.modes, laws, strict=True))

    def reactions(self, udot: Matrix) -> dict[int, Expr]:
        """The reactions of rows that hold, by row, for accelerations of the independent speeds."""
        kin, whole = self.equations.kinematics, self.whole_program
        if not isinstance(kin, InSpeeds):
            return {}
        embedded, base, eq = kin.speeds.embedded, kin.joints, whole.equations
        own = [e for u, e in kin.speeds.defined.items() if u in {*kin.u}]
        S = jacobian(vector([*own, *embedded.psi]), base.u)
        points = generic_points(base, embedded.phi, [*own, *embedded.psi], embedded.reference)
        A = eliminate(S, identity(len(S))[:, len(own) :], points)
        v = [self.joint_speeds[s] for s in eq.u]
        along, by = [*self.equations.q, *kin.u, TIME], [*kin.q_dot, *udot, as_expr(1)]
        vdot = vector([diff_along(e, along, by) for e in v])
        needed = eq.M @ vdot + eq.c if eq.terms.inverse is None else eq.terms.inverse(vdot)
        lam = A.T @ (self._seen(needed - eq.Q) - self._pushed)
        labels = whole.constraints.labels
        return {labels.index(label): e for label, e in zip(embedded.labels, lam, strict=True)}

    @cached_property
    def ends(self) -> list[tuple[int, int, Expr, bool]]:
        """What must stay above 0 while it lasts: row, cause where it does not, value, whether that is of reactions.

        The last, without a row, is about the choice of speeds.
        """
        whole, laws, found = self.whole_program, self.whole_program.row_laws, []
        rate = self.rate
        lam = self.reactions(rate[len(self.equations.q) :][: len(self.equations.u)]) if self.reacting else {}
        phi, psi = whole.constraints.phi, self._seen(whole.constraints.psi)
        for i, (mode, law) in enumerate(zip(self.modes, laws, strict=True)):
            grip = self._seen(law.grip)
            if law.kind == UNILATERAL:
                found.append((i, CLOSED, phi[i], False) if mode == OFF else (i, OPENED, lam[i], True))
            elif law.kind == TANGENT and law.size and mode == HELD:
                pull = sum((lam[k] * lam[k] for k in range(i, i + law.size) if k in lam), _ZERO)
                pressed = lam[i + law.of] if law.of else as_expr(1)
                found.append((i, SLIPPED, grip * pressed - sqrt(pull), True))
            elif law.kind == TANGENT and law.size and mode == SLIDES:
                found.append((i, STUCK, psi[i] * self.slips[i], False))
        if (margin := self._margin()) is not None:
            found.append((-1, NOTHING, margin, False))
        return found

    def _margin(self) -> Expr | None:
        """How far the choice of speeds is from a poor one: 1 - |D|^2 / POOR^2, in units of inertia; None if constant.

        u_D = D u + E; where D grows without bounds, the dependent speeds do not follow from the others.
        """
        kin, M = self.equations.kinematics, self.whole_program.equations.M
        if not isinstance(kin, InSpeeds) or not (free_symbols(kin.speeds.D) & {*kin.q, TIME}):
            return None
        place = {s: i for i, s in enumerate(self.whole_program.equations.u)}
        of = [M[place[s], place[s]] for s in kin.speeds.dependent]
        by = [M[place[s], place[s]] for s in kin.u]
        total = _ZERO
        for i, row in enumerate(kin.speeds.D.rows()):
            for j, e in enumerate(row):
                if e != 0:
                    size = _ZERO if of[i] == 0 or by[j] == 0 else of[i] / by[j]
                    total = total + e * e * (size if size != 0 else as_expr(1))
        return 1 - total / POOR**2

    def watch(self, guards: Sequence[Expr]) -> tuple[Function | None, int]:
        """The call (t, x, rate, p) -> what must stay above 0 and guards, then their rates; and how many they are.

        Reactions follow from the rate of the state; their own rates are not known, and said to be 0.
        """
        values = [(value, forces) for _, _, value, forces in self.ends]
        values += [(self._seen(e), False) for e in guards]
        if not values:
            return None, 0
        rate = self.rate
        along, by = [*self.x, TIME], [*rate, as_expr(1)]
        rates = [_ZERO if forces else diff_along(e, along, by) for e, forces in values]
        return self.compiled("guards", [*(e for e, _ in values), *rates], rate=rate), len(values)

    def room(self, watched: tuple[Function | None, int], whole: Machine) -> Machine:
        """Room for one run, whose forces are those of the whole machine."""
        made = self.machine(switched=True, guards=watched)
        made.code[FLOW] = self.flow.address  # type: ignore[union-attr]
        assert made.switching is not None
        made.switching.places[0]["losses"] = -1
        return made._replace(tau=whole.tau, constrained=made.constrained if len(self.held) else None)


def idle_rows(program: Program) -> set[int]:
    """Rows that nothing can move: those across a machine in the plane."""
    return {i for i, row in enumerate(program.constraints.J.rows()) if all(e == 0 for e in row)}


def _refuse_friction(program: ModeProgram) -> None:
    """Refuse what slides by a reaction that is not known."""
    whole = program.whole_program
    for i, (mode, law) in enumerate(zip(program.modes, whole.row_laws, strict=True)):
        if mode == SLIDES and law.kind == TANGENT and (law.of or law.size > 1):
            name = whole.constraints.names[i]
            raise NotEmbeddedError(f"{name!r} slides, with friction that depends on a reaction")


def _bilateral(whole: Program, held: Sequence[int]) -> Model:
    """The model in which some rows hold as bilateral constraints, and nothing else does."""
    rows, model, idle = whole.constraints, whole.equations.model, idle_rows(whole)
    known: Mapping[str, Any] = {c.name: c for c in model.constraints}
    found: list[Any] = []
    for name in dict.fromkeys(rows.names[i] for i in held):
        mine = [i for i in held if rows.names[i] == name and i not in idle]
        declared = known.get(name)
        if declared is not None and declared.law == "equal" and not isinstance(declared, Commanded):
            found.append(replace(declared, active=True))
            continue
        for i in mine:
            at_rest = substitute(rows.psi[i], dict.fromkeys(whole.equations.u, _ZERO))
            value = rows.phi[i] if rows.holonomic[i] else rows.J[i] @ whole.equations.u + at_rest
            found.append(Relation(name=rows.labels[i], value=value, active=True))
    return replace(model, bodies=tuple(map(_slick, model.bodies)), constraints=tuple(found), limits="ignore")


def _slick(body: Body) -> Body:
    """A body without the dry friction that is among the rows."""
    dry = body.joint.friction and body.joint.friction_speed == 0
    return replace(body, joint=replace(body.joint, friction=())) if dry else body
