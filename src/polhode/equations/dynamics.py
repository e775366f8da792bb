"""Compiled equations: arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

from polhode.compile import compile
from polhode.compile.targets import TARGETS
from polhode.graph import Expr, Matrix, as_expr, free_symbols, solve, substitute, symbol, vector
from polhode.model import TIME
from polhode.model.elsewhere import Elsewhere
from polhode.model.errors import closest, listed
from polhode.model.report import idle

from .inputs import fresh, inputs
from .later import later
from .parameters import Call, parameter_values
from .response import Acceleration, Response, impulse, respond

if TYPE_CHECKING:
    from .derivatives import Derivatives
    from .equations import Equations


class Dynamics(Elsewhere):
    """The calls of a mechanism as native code.

    Arrays have shape (..., n): leading dimensions are a batch. Every call takes
    out= and threads=. Where the equations have parameters, pass p={"m": 2.0} or
    an array in the order of `parameters`; where they depend on time, t=; where the model has states
    that are not motion, z=; where it has actuators, controls={"motor": 0.5} or an array in their order, 0 without.

    equations  : what was compiled
    values     : of the parameters folded into the code
    parameters : names of those that stay inputs, in order
    """

    _compiled: ClassVar[str] = "dyn"
    _elsewhere: ClassVar[Mapping[str, str]] = {
        "M": "dyn.mass_matrix(q), or dyn.equations.M for the expressions",
        "c": "dyn.bias(q, u), or dyn.equations.c for the expressions",
        "Q": "dyn.forces(q, u), or dyn.equations.Q for the expressions",
        "model": "dyn.equations.model",
        **dict.fromkeys(("q", "u", "z", "latex", "to_c", "to_sympy", "constraints"), "dyn.equations.{name}"),
        **dict.fromkeys(("lagrangian", "kinetic", "potential"), "dyn.energy(q, u), or dyn.equations.{name}"),
        "compile": "dyn itself: it is compiled",
    }

    def __init__(self, equations: Equations, values: Mapping[Any, Any], target: str = "llvm") -> None:
        if target not in TARGETS:
            raise ValueError(f"Target {target!r} is unknown. {closest(target, TARGETS)}")
        self.equations = equations
        self.target = target
        self.values = parameter_values(equations, values)
        left = [s for s in equations.parameters if s not in self.values]
        self.parameters: tuple[str, ...] = tuple(str(s.value) for s in left)
        self.timed: bool = TIME in free_symbols([*equations.Q, *equations.kinematics.quasi.values()])
        self._markers: dict[tuple[str, ...], Any] = {}
        self.programs: dict[Any, Any] = {}  # what simulations made of it

    def _compile(self, name: str, inputs: dict[str, Any], output: Matrix | Mapping[str, Matrix]) -> Any:
        """Compile one call, or one of several outputs by name, with t and p as inputs only where it uses them."""
        single = isinstance(output, Matrix)
        whole = folded({name: output} if isinstance(output, Matrix) else output, self.values)
        found = free_symbols([e for part in whole.values() for e in part.entries])
        used = [s for s in map(symbol, self.parameters) if s in found]
        z = self.equations.z
        timed, stated = TIME in found, any(s in found for s in z)
        controls = self.equations.controls
        commanded = "tau" not in inputs and any(s in found for s in controls)
        extra = ({"t": TIME} if timed else {}) | ({"z": z} if stated else {}) | ({"p": vector(used)} if used else {})
        extra |= {"controls": controls} if commanded else {}
        full = partial(compile, inputs | extra, whole if single else [*whole.values()], target=self.target, name=name)
        if not self.parameters and not self.timed and not len(z) and not len(controls):
            return full()
        names = tuple(str(s.value) for s in used)
        actuators = tuple(actuator.name for actuator in self.equations.model.actuators)
        driven = "tau" in inputs
        idle = (
            self._without_controls(name, inputs | extra, whole, single)
            if len(controls) and (commanded or driven)
            else None
        )
        return Call(name, full, timed, stated, names, self.parameters, actuators, commanded, driven, idle)

    def _without_controls(self, name: str, inputs: dict[str, Any], output: Mapping[str, Matrix], single: bool) -> Any:
        """What makes the same call where controls are 0: it takes none. None where laws have no value there."""
        kept = {key: value for key, value in inputs.items() if key != "controls"}
        if "tau" in kept:
            kept["tau"] = kept["tau"][: len(self.equations.u)]
        try:
            still = folded(output, {s: as_expr(0) for s in self.equations.controls})
        except ZeroDivisionError:
            return None
        return partial(compile, kept, still if single else [*still.values()], target=self.target, name=name)

    @cached_property
    def mass_matrix(self) -> Any:
        """M(q), (..., nu, nu)."""
        return self._compile("mass_matrix", {"q": self.equations.q}, self.equations.M)

    @cached_property
    def bias(self) -> Any:
        """c(q, u), velocity and gravity terms, (..., nu)."""
        eq = self.equations
        return self._compile("bias", {"q": eq.q, "u": eq.u}, eq.c)

    @cached_property
    def forces(self) -> Any:
        """Q(q, u), the model's own force laws, (..., nu)."""
        eq = self.equations
        return self._compile("forces", {"q": eq.q, "u": eq.u}, eq.Q)

    @cached_property
    def forward_dynamics(self) -> Any:
        """udot(q, u, tau, active=None), (..., nu): from M udot + c = Q + tau + J^T lam, where constraints hold.

        active : names of the constraints that hold; None for those the model declares, () for the bare tree
        check  : warn (ConstraintWarning) where a state does not satisfy them, or where they contradict each other
        """
        model = self.equations.model
        knows = len(self.equations.constraints) or any(not c.holds for c in model.constraints)
        return Response(self, reactions=False) if knows else self.tree_dynamics

    @cached_property
    def tree_dynamics(self) -> Any:
        """udot(q, u, tau) of the bare tree, without constraints: M udot + c = Q + tau, (..., nu)."""
        eq = self.equations
        given = {"q": eq.q, "u": eq.u, "tau": inputs(eq)}
        return self._compile("forward_dynamics", given, accelerations(eq, given["tau"][: len(eq.u)]))

    def response(self, q: Any, u: Any, tau: Any, active: Iterable[str] | None = None, **options: Any) -> Any:
        """Accelerations and reactions at once, (..., nu) and (..., m); see `forward_dynamics` and `reactions`."""
        return respond(self, "response", q, u, tau, active, **options)

    @cached_property
    def row_accelerations(self) -> Call:
        """The call (q, u, udot, lam) -> J udot + gamma and the squares of its sizes, (..., 2 m): see `satisfied`."""
        from .satisfied import row_accelerations

        eq, udot = self.equations, fresh("udot", self.equations)
        lam = vector([symbol(f"reaction {i}") for i in range(len(eq.rows))])
        inputs = {"q": eq.q, "u": eq.u, "udot": udot, "lam": lam}
        made = self._compile("row_accelerations", inputs, row_accelerations(eq, udot, lam))
        if isinstance(made, Call):
            return made
        return Call("row_accelerations", lambda: made, any(port.name == "t" for port in made.inputs), False, (), ())

    def unit(self, q: Any) -> Any:
        """Coordinates (..., nq) with quaternions of length 1."""
        from .program import program_of

        return program_of(self).unit(q) if self._turns else q

    @cached_property
    def _turns(self) -> bool:
        return any(link.part.quaternion for link in self.equations.kinematics.joints.links)

    @cached_property
    def reactions(self) -> Any:
        """lam(q, u, tau, active=None), (..., m): a value for each row of the constraints, J^T lam on the speeds.

        Where rows repeat one another, the least of all that are possible.
        """
        return Response(self, reactions=True)

    def impulse(
        self, q: Any, u: Any, active: Iterable[str] | None = None, restitution: float = 0.0, *, t: Any = None,
        z: Any = None, p: Any = None, check: bool = True,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Speeds after the active constraints were imposed, (..., nu), and the impulses of their rows, (..., m).

        M (u+ - u-) = J^T Lam,  psi(u+) = -restitution psi(u-).

        check : warn where positions do not satisfy them, or where they contradict each other
        """
        return impulse(self, q, u, active, restitution, t, z, p, check)

    @cached_property
    def inverse_dynamics(self) -> Any:
        """tau(q, u, udot) from M udot + c = Q + tau, (..., nu)."""
        eq = self.equations
        udot = fresh("udot", eq)
        return self._compile("inverse_dynamics", {"q": eq.q, "u": eq.u, "udot": udot}, needed_forces(eq, udot))

    @cached_property
    def derivatives(self) -> Derivatives:
        """Derivatives of forward and inverse dynamics and of impulses, by everything they depend on."""
        from .derivatives import Derivatives

        return Derivatives(self)

    @cached_property
    def energy(self) -> Any:
        """Kinetic and potential energy at (q, u), (..., 2)."""
        eq = self.equations
        return self._compile("energy", {"q": eq.q, "u": eq.u}, vector([eq.kinetic, eq.potential]))

    @cached_property
    def rates(self) -> Any:
        """qdot = N(q) u, (..., nq)."""
        eq = self.equations
        return self._compile("rates", {"q": eq.q, "u": eq.u}, eq.kinematics.q_dot)

    @cached_property
    def center_of_mass(self) -> Any:
        """Centre of mass of what moves, in the world, (..., 3)."""
        return self._compile("center_of_mass", {"q": self.equations.q}, self.equations.center_of_mass)

    def automaton(self, over: Iterable[str] | None = None, most: int = 64) -> Any:
        """The machine as a finite state machine: modes with embedded equations of their own, compiled ahead.

        over : names of the constraints that come and go; None for all that can. The others stay as declared
        most : modes; more are refused

        Reference: [Gillespie, section 4].
        """
        return later("simulate.automaton", "Automaton")(self, over, most)

    def step_cost(self, mode: Any = None, method: str = "euler", step: float = 1e-3, **given: Any) -> Any:
        """Operations and measured times of a step in each mode, and of a switch to it: a table that prints.

        mode   : one mode, as names of constraints with what they do, {"brake": "holds"}; None for all
        method : and step=, as of `simulate`
        given  : q, u, tau, p : the state, forces and parameters at which it is measured; repeats : how often;
                 over, most : as of `automaton`

        Columns: operations of the rate of change; times of a step by the mode's own equations and by the loop for
        all modes, and of a switch to the mode from nothing engaged, each with the worst that was seen; and the switch
        in steps.
        """
        return later("simulate.step_cost", "step_cost")(self, mode, method, step, **given)

    def pose(self, marker: str, *state: Any) -> Any:
        """The call q -> pose of a marker or body in the world, (..., 4, 4)."""
        _require_call("pose", marker, state, "q")
        return self._marker("pose", marker)

    def velocity(self, marker: str, axes: str = "world", *state: Any) -> Any:
        """The call (q, u) -> angular velocity and velocity of a marker or body, (..., 6)."""
        _require_call("velocity", marker, (axes, *state), "q, u")
        return self._marker("velocity", marker, axes)

    def acceleration(self, marker: str, axes: str = "world", *state: Any) -> Any:
        """The call (q, u, tau, active=None) -> angular acceleration and acceleration of a marker or body, (..., 6)."""
        _require_call("acceleration", marker, (axes, *state), "q, u, tau")
        return Acceleration(self, self._marker("acceleration", marker, axes))

    def jacobian(self, marker: str, axes: str = "world", *state: Any) -> Any:
        """The call q -> Jacobian of a marker or body, (..., 6, nu)."""
        _require_call("jacobian", marker, (axes, *state), "q")
        return self._marker("jacobian", marker, axes)

    def _marker(self, what: str, *key: str) -> Any:
        if (what, *key) not in self._markers:
            eq = self.equations
            inputs = {"q": eq.q, "u": eq.u} if what in ("velocity", "acceleration") else {"q": eq.q}
            extra: tuple[Any, ...] = ()
            if what == "acceleration":
                inputs["udot"] = fresh("udot", eq)
                extra = (inputs["udot"],)
            self._markers[what, *key] = self._compile(what, inputs, getattr(eq, what)(*key, *extra))
        return self._markers[what, *key]

    def __repr__(self) -> str:
        eq = self.equations
        rest = f", parameters {', '.join(self.parameters)}" if self.parameters else ""
        return f"Dynamics of {eq.model.name!r} by {eq.method}: nq = {len(eq.q)}, nu = {len(eq.u)}{rest}; {self.target}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Dynamics, (self.equations, self.values, self.target)


def _require_call(what: str, marker: str, given: tuple[Any, ...], takes: str) -> None:
    """Point those who pass a state along with the name to the call that takes it."""
    if not isinstance(marker, str):
        raise TypeError(
            f"{what}: marker is {marker!r:.60}, expected the name of a marker or body. With it there is a call that "
            f"takes the state: dyn.{what}(NAME)({takes})."
        )
    if any(not isinstance(each, str) for each in given):
        call = f"dyn.{what}({marker!r})"
        raise TypeError(f"{call} is the call, which takes the state: {call}({takes}).")


def folded(parts: Mapping[str, Matrix], values: Mapping[Expr, Expr]) -> dict[str, Matrix]:
    """Parts of the equations by name, with values for some symbols."""
    if not values:
        return dict(parts)
    entries = iter(substitute(vector([e for part in parts.values() for e in part.entries]), values))
    return {name: Matrix(part.shape, [next(entries) for _ in part.entries]) for name, part in parts.items()}


def needed_forces(eq: Equations, udot: Matrix) -> Matrix:
    """M udot + c - Q, by recursion where there is one."""
    needed = eq.M @ udot + eq.c if eq.terms.inverse is None else eq.terms.inverse(udot)
    found: Matrix = needed - eq.Q
    return found


def accelerations(eq: Equations, tau: Matrix, beside: Matrix | None = None) -> Matrix:
    """Solve (M + beside) udot = Q + tau - c, by recursion where there is one, or say which speeds are not determined.

    beside : (nu, nu), nothing where it is None; diagonal where the speeds are those of the joints
    """
    if beside is None:
        require_inertia_of_beams(eq)
    try:
        if eq.terms.forward is None:
            return solve(eq.M if beside is None else eq.M + beside, eq.Q + tau - eq.c)
        more = None if beside is None else vector([beside[i, i] for i in range(len(eq.u))])
        return eq.terms.forward(eq.Q + tau, more)
    except ZeroDivisionError:
        raise singular(eq) from None


def singular(eq: Equations) -> ValueError:
    """What to say where M is singular at every state."""
    if found := [str(u.value) for i, u in enumerate(eq.u) if eq.M[i, i] == 0]:
        return _undetermined(eq, found)
    return ValueError(
        f"Model {eq.model.name!r}: its inertia matrix is singular, so the accelerations are not determined. "
        "Two joints move the same inertia in the same way: give what lies between them mass or an armature, "
        "or leave one of them out."
    )


def require_inertia_of_beams(eq: Equations) -> None:
    """Refuse speeds that turn beams about their own lines: M is singular where these are straight."""
    names = {str(u.value) for u in eq.u}
    for body, speeds in idle(eq.model) if any(body.modes for body in eq.model.bodies) else ():
        found = [s for s in speeds if s in names]
        if body.flexible is not None and found:
            raise ValueError(
                f"Model {eq.model.name!r}: nothing with inertia moves with {listed(found)}, which turns the flexible "
                f"body {body.name!r} about its own line, so its acceleration is not determined. Give the beam J=..., "
                "its polar moment of inertia per length (with or without GJ), or the joint an armature."
            )


def _undetermined(eq: Equations, speeds: list[str]) -> ValueError:
    return ValueError(
        f"Model {eq.model.name!r}: nothing with inertia moves with {listed(speeds)}, so its acceleration is not "
        "determined. Give the bodies it carries mass or inertia, its joint an armature, or weld it."
    )
