"""Trajectories: what a simulation returns, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from polhode.equations import Dynamics
from polhode.equations.inputs import inputs
from polhode.equations.program import program_of
from polhode.graph import symbol
from polhode.model.elsewhere import Elsewhere
from polhode.model.errors import closest, listed
from polhode.view import Scene, placed

from . import audit, export, pictures, quantities
from .events import Events, Named, modes_at, places_at
from .interpolate import Ends, Knots, hermite, knots_of
from .modes import respond_in_modes
from .outcome import Outcome


@dataclass(frozen=True, kw_only=True, eq=False)
class Trajectory(Elsewhere):
    """The motion of a machine: states at output times, and how the run ended.

    t            : (k,), ascending; equal times are the two sides of a jump
    q, u         : (k, nq), (k, nu)
    tau          : (k, nu + nc), what acted from outside: forces on the speeds, then controls of actuators, limited
    parameters   : values, in the order of dynamics.parameters
    statistics   : steps, rejected, evaluations, seconds
    residuals    : (k, m) of the constraints, last those embedded in the equations
    reactions    : (k, j), the multipliers lam of all that is not embedded
    constraint_names, reaction_names : one for each row, (m,) and (j,)
    sampled      : time of the first call and period of a sampled control, by which tau acts unchanged
    z            : (k, nz), states that are not motion
    work_done    : (k, 4), see `work`, where the run counted it
    events       : what happened to constraints that come and go
    set_rows     : numbers of the states that were set by hand or struck, each beside the one before it

    traj["elbow"] is a coordinate, speed or input by name, (k,), also a speed of the model that is not one of u;
    traj["close.x"] a residual and traj["reaction close.x"] a reaction of a constraint.
    """

    _elsewhere: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("y", "x", "state"), "traj.q and traj.u, (k, nq) and (k, nu), or a name: traj[NAME]"),
        **dict.fromkeys(("time", "times", "ts"), "traj.t"),
        "qdot": "traj.rates",
        "udot": "traj.accelerations",
        **dict.fromkeys(("show", "video", "movie"), 'traj.animate("motion.html")'),
        "success": "traj.outcome.finished",
        "message": "traj.outcome",
    }

    dynamics: Dynamics
    t: np.ndarray
    q: np.ndarray
    u: np.ndarray
    tau: np.ndarray
    outcome: Outcome
    parameters: np.ndarray = field(default_factory=lambda: np.zeros(0))
    statistics: Mapping[str, Any] = field(default_factory=dict)
    residuals: np.ndarray | None = None
    reactions: np.ndarray | None = None
    constraint_names: tuple[str, ...] = ()
    reaction_names: tuple[str, ...] = ()
    sampled: tuple[float, float] | None = None
    work_done: np.ndarray | None = None
    z: np.ndarray = field(default_factory=lambda: np.zeros(0))
    events: Events = field(default_factory=Events)
    set_rows: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        eq, k, m = self.dynamics.equations, np.size(self.t), len(self.constraint_names)
        shapes = {"t": (k,), "q": (k, len(eq.q)), "u": (k, len(eq.u)), "tau": (k, len(eq.u) + len(eq.controls))}
        shapes |= {"parameters": (len(self.dynamics.parameters),), "residuals": (k, m)}
        if not np.size(self.z):
            object.__setattr__(self, "z", np.zeros((k, len(eq.z))))
        shapes["z"] = (k, len(eq.z))
        if not self.reaction_names:
            object.__setattr__(self, "reaction_names", eq.constraints.labels)
        shapes |= {"reactions": (k, len(self.reaction_names)), "work_done": (k, 4)}
        if k == 0:
            raise ValueError("A trajectory needs at least one state, found none.")
        for name, shape in shapes.items():
            given = getattr(self, name)
            if given is None:
                continue
            array = np.ascontiguousarray(given, dtype=float).view()
            if array.shape != shape:
                raise ValueError(f"Trajectory: {name} has shape {array.shape}, expected {shape}.")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        acting = quantities.within_limits(self.dynamics, self.tau, self.parameters)
        acting.flags.writeable = False
        object.__setattr__(self, "tau", acting)

    @cached_property
    def mode(self) -> dict[str, np.ndarray]:
        """What every constraint that comes and goes did at the outputs, in words, (k,), by name: see `Event`."""
        return Named(modes_at(self.events, self.t), "constraint that comes and goes")

    # names

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the columns of q."""
        return tuple(str(s.value) for s in self.dynamics.equations.q)

    @cached_property
    def speeds(self) -> tuple[str, ...]:
        """Names of the columns of u."""
        return tuple(str(s.value) for s in self.dynamics.equations.u)

    @cached_property
    def other_speeds(self) -> tuple[str, ...]:
        """Names of the speeds of the model that follow from q and u, such as those of joints that motors drive."""
        return tuple(str(s.value) for s in self.dynamics.equations.kinematics.quasi if s.value not in self.speeds)

    @cached_property
    def states(self) -> tuple[str, ...]:
        """Names of the columns of z."""
        return tuple(str(s.value) for s in self.dynamics.equations.z)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the columns of tau: tau_<speed>, and <actuator>_control."""
        return tuple(str(s.value) for s in inputs(self.dynamics.equations))

    @property
    def columns(self) -> tuple[tuple[str, ...], ...]:
        """Names of the columns of q, u, z and tau."""
        return self.coordinates, self.speeds, self.states, self.inputs

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that traj[name] takes: of columns, residuals and reactions of constraints, and "mode NAME"."""
        every = [*self.columns, ("t",), self.other_speeds, self.constraint_names if self.residuals is not None else ()]
        every.append(tuple(f"reaction {name}" for name in self.reaction_names) if self.reactions is not None else ())
        every.append(tuple(f"mode {name}" for name in self.mode))
        return tuple(dict.fromkeys(name for part in every for name in part))

    @cached_property
    def units(self) -> dict[str, str]:
        """The unit of every name: rad, m, rad/s, m/s, N m, N, V, A, s, or 1 for parts of a quaternion."""
        return pictures.units(self)

    def __getitem__(self, name: str) -> np.ndarray:
        for names, columns in (
            (self.coordinates, self.q),
            (self.speeds, self.u),
            (self.states, self.z),
            (self.inputs, self.tau),
            (("t",), self.t[:, None]),
            (self.constraint_names, self.residuals),
            (tuple(f"reaction {name}" for name in self.reaction_names), self.reactions),
        ):
            if columns is not None and name in names[: columns.shape[1]]:
                found: np.ndarray = columns[:, names.index(name)]
                return found
        if name in self.other_speeds:
            return quantities.run(self, [symbol(name)])[0]
        if isinstance(name, str) and name.startswith("mode ") and name[5:] in self.mode:
            return self.mode[name[5:]]
        if isinstance(name, str) and name.startswith("reaction") and self.reactions is None:
            raise KeyError(f"There is no {name!r}: reactions were not computed. Simulate with reacting=True.")
        begun = [known for known in self.names if known.startswith(f"{name}.")]  # rows of a constraint
        near = f"There are {listed(begun)}." if begun else closest(name, self.names)
        raise KeyError(f"There is no {name!r} in the trajectory. {near}")

    def _where(self, name: str) -> str:
        if name in self.names:
            return f"Write traj[{name!r}]."
        return super()._where(name)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        name, k = self.dynamics.equations.model.name, len(self)
        states = f"{k:,} states, t = {self.t[0]:g} to {self.t[-1]:g} s" if k > 1 else f"1 state, t = {self.t[0]:g} s"
        return f"Trajectory of {name!r}: {states}. {self.outcome}"

    # states between outputs

    def at(self, time: Any) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and speeds at a time, or at an array of times.

        Cubic Hermite interpolation between outputs, from their rates: the error
        falls with the fourth power of the spacing; not across events, whose states are known. Quaternions keep
        length 1.

        Returns q : (..., nq), u : (..., nu).
        """
        asked = np.asarray(time, dtype=float)
        t, slack = self.t, 1e-9 * max(float(self.t[-1] - self.t[0]), abs(float(self.t[-1])))
        outside = ~((asked >= t[0] - slack) & (asked <= t[-1] + slack))
        if outside.any():
            worst = float(np.atleast_1d(asked)[np.atleast_1d(outside)][0])
            raise ValueError(f"Time {worst:g} is not in the trajectory, expected {t[0]:g} to {t[-1]:g} s.")
        if len(t) == 1:
            return tuple(np.broadcast_to(x[0], (*asked.shape, x.shape[1])).copy() for x in (self.q, self.u))  # type: ignore[return-value]
        t = self._knots.t
        i = np.clip(np.searchsorted(t, asked, side="right") - 1, 0, len(t) - 2)
        h = t[i + 1] - t[i]
        s = np.where(h > 0, np.clip((asked - t[i]) / np.where(h > 0, h, 1), 0, 1), 1.0)
        q = hermite(self._knots.q, self._q_slopes, i, h, s)
        return self.dynamics.unit(q), hermite(self._knots.u, self._u_slopes, i, h, s)

    def beside(self, time: Any) -> np.ndarray:
        """States that are not motion at times, (k, nz), along lines between outputs."""
        found = [np.interp(time, self.t, column) for column in self.z.T]
        return np.array(found).T.reshape(np.size(time), len(self.states))

    @cached_property
    def rates(self) -> np.ndarray:
        """qdot at the outputs, (k, nq)."""
        return self._call("rates", self.q, self.u)

    @cached_property
    def accelerations(self) -> np.ndarray:
        """udot at the outputs, (k, nu), with the reactions of constraints."""
        return self.respond(self.t, self.q, self.u, self.tau, self.z)[0]

    def respond(
        self, t: np.ndarray, q: np.ndarray, u: np.ndarray, tau: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """udot and the reactions of constraints at states, a row each, in the mode that lasted there."""
        dyn, extra = self.dynamics, {"t": t, "z": z, "p": self.parameters}
        if self.events and self.events[0].rows is not None:
            x, place = np.concatenate([q, u, z], axis=1), places_at(self.events, t)
            return respond_in_modes(program_of(dyn), self.parameters, self.events, place, t, x, tau)
        nu = len(dyn.equations.u)
        if tau.shape[1] > nu:
            tau, extra["controls"] = tau[:, :nu], tau[:, nu:]
        if len(dyn.equations.constraints):
            udot, lam = dyn.response(q, u, tau, **extra, check=False)  # the residuals of a run are known
            return udot, lam
        return self._call("forward_dynamics", q, u, tau, **extra), np.zeros((len(t), 0))

    @cached_property
    def _knots(self) -> Knots:
        """The outputs, and between them both sides of every event."""
        outputs = Knots(self.t, self.q, self.u, self.tau, self.z)
        return knots_of(outputs, self.events, self.sampled is not None)

    @cached_property
    def _q_slopes(self) -> Ends:
        """At the start and the end of every interval."""
        k = self._knots
        rates = self._call("rates", k.q, k.u, t=k.t, z=k.z)
        return rates[:-1], rates[1:]

    @cached_property
    def _u_slopes(self) -> Ends:
        k = self._knots
        found, _ = self.respond(*k)
        if self.sampled is None:
            return found[:-1], found[1:]
        held = k._replace(tau=np.concatenate([k.tau[1:], k.tau[-1:]]))  # what acts after each
        return self.respond(*held)[0][:-1], found[1:]

    # quantities along the way

    def evaluate(self, what: Any) -> Any:
        """Values of expressions of q, u, t, tau and parameters at the outputs.

        what : an expression, a matrix or list of them, text such as "L*sin(theta)",
               or a dict of these

        Returns (k,) for one, (k, ...) for a matrix, a dict for a dict.
        """
        return quantities.evaluate(self, what)

    def _call(self, name: str, *args: np.ndarray, **given: Any) -> np.ndarray:
        """A call of the dynamics, with time, states and parameters where it takes them."""
        dyn = self.dynamics
        driven = {key: given[key] for key in ("controls",) if key in given}
        extra = {"p": self.parameters, "t": self.t, "z": self.z} | given
        takes = dyn.parameters or dyn.timed or self.states
        found: np.ndarray = getattr(dyn, name)(*args, **(extra if takes else driven))
        return found

    def pose(self, marker: str) -> np.ndarray:
        """Pose of a marker or body in the world, (k, 4, 4)."""
        return quantities.run(self, [self.dynamics.equations.pose(marker)])[0]

    def velocity(self, marker: str, axes: str = "world") -> np.ndarray:
        """Angular velocity and velocity of a marker or body, (k, 6)."""
        return quantities.run(self, [self.dynamics.equations.velocity(marker, axes)])[0]

    @cached_property
    def sensors(self) -> dict[str, np.ndarray]:
        """What the sensors of the model show at the outputs, by name: (k,), (k, 3) or (k, 3, 3)."""
        return quantities.sensed(self)

    # audits

    @cached_property
    def energy(self) -> np.ndarray:
        """Kinetic, potential and total energy, (k, 3). [J]"""
        found = self._call("energy", self.q, self.u)
        return np.column_stack([found, found.sum(axis=1)])

    @cached_property
    def powers(self) -> np.ndarray:
        """Power of what `work` adds up, at the start, the middle and the end of every interval, (3, k - 1, 4). [W]"""
        return audit.powers(self)

    @cached_property
    def work(self) -> np.ndarray:
        """Work done since the start, (k, 4): of tau; of the model's own forces without a potential; of impacts,
        friction and what slips, which take energy; of constraints that move with time. [J]

        Integrated with the motion; where a trajectory was not simulated here, by Simpson's rule between outputs,
        which knows no impacts.
        """
        return self.work_done if self.work_done is not None else audit.work(self)

    @property
    def energy_drift(self) -> np.ndarray:
        """Energy that came or went without work, (k,): E - E(0) - work - set_by_hand. [J]

        E(0) is before what happened at the start itself, of which the first output may be the state after it.
        """
        total = self.energy[:, 2] - self.work.sum(axis=1)
        drift: np.ndarray = total - total[0] - self.set_by_hand
        return drift

    @cached_property
    def set_by_hand(self) -> np.ndarray:
        """Energy that states brought which were set between steps, and strikes, since the start, (k,). [J]"""
        found, rows = np.zeros(len(self)), np.array(self.set_rows, dtype=int)
        total = self.energy[:, 2] - self.work.sum(axis=1)
        found[rows] = total[rows] - total[rows - 1]
        return np.cumsum(found)

    @cached_property
    def momentum(self) -> np.ndarray:
        """Angular momentum about the world's origin and linear momentum of all bodies, (k, 6).

        Spatial vectors have their angular part first. Armatures have no place, so they do not count.
        """
        return quantities.run(self, [audit.momentum(self.dynamics.equations.kinematics)])[0]

    def audit(self) -> audit.Audit:
        """What should be conserved or balanced, and how well it is; print it."""
        return audit.Audit.of(self)

    # files

    def to_numpy(self) -> dict[str, np.ndarray]:
        """Every column by name: t, coordinates, speeds, inputs, then residuals, reactions and modes in words."""
        return export.columns(self)

    def to_pandas(self) -> Any:
        """A pandas DataFrame with these columns, t its index; modes are categories. `events.to_pandas()` beside it."""
        return export.frame(self)

    def to_csv(self, path: Any) -> None:
        """Write the columns as CSV, numbers in full; where constraints come and go, events to NAME.events.csv."""
        export.write_csv(self, path)

    def to_parquet(self, path: Any) -> None:
        """Write the DataFrame as Parquet; where constraints come and go, events to NAME.events.parquet."""
        export.write_parquet(self, path)

    def to_json(self, path: Any = None) -> str:
        """Columns, units, parameters, events and outcome as one JSON object; also written where a path is given."""
        text = export.as_json(self)
        if path is not None:
            placed(path).write_text(text, encoding="utf-8")
        return text

    def to_hdf5(self, path: Any) -> None:
        """Write t, q, u, tau and the rest as HDF5, with names, parameters and outcome as attributes.

        Modes and events are groups of columns.
        """
        export.write_hdf5(self, path)

    # pictures

    def plot(self, *names: str | Path | Sequence[str] | None, path: Any = None) -> Any:
        """Draw coordinates, speeds, inputs and energies, or the named ones; return the matplotlib Figure.

        names : of coordinates, speeds and inputs, of constraints, or "kinetic",
                "potential", "total", "drift"; of constraints that come and go, for what they did.
                One by one, or in lists; the last may be the path: traj.plot("arm.png"), traj.plot("x", "y", "arm.png")
        path  : also write it, as PNG, SVG or PDF by its ending

        Events are thin lines; below the curves a strip says what every constraint did that changed.
        """
        chosen, path = pictures.named_and_path(names, path)
        return pictures.plot(self, chosen, path)

    def phase(self, x: str, y: str | None = None, path: Any = None) -> Any:
        """Draw one quantity over another, from a dot where the run begins; return the matplotlib Figure.

        x, y : names as of `plot`, or expressions: traj.phase("L*sin(theta)", "theta"). Of a coordinate alone, its rate
        path : also write it, as PNG, SVG or PDF by its ending
        """
        return pictures.phase(self, x, y, path)

    def _repr_html_(self) -> str:
        """A player of the motion, which needs no network, for notebooks."""
        return pictures.player(self)

    def animate(self, path: Any, fps: int = 25, magnify: float | str = 1) -> Path:
        """Write the motion: a page that plays it for .html, a film for .gif and .mp4; return the path.

        The page is one file and needs no network. page.html#t=1.5 shows that moment.

        fps     : frames a second of a film
        magnify : by how much deflections of flexible bodies are drawn larger than they are, and the picture says so;
                  "auto" so that they can be seen
        """
        return pictures.animate(self, path, fps, magnify)

    def scene(
        self,
        fps: int | None = None,
        marks: Sequence[tuple[float, str]] | None = None,
        magnify: float | str = 1,
    ) -> Scene:
        """The machine as shapes fixed to its bodies, with their poses in frames evenly spaced in time.

        A notebook plays it; `scene.picture(1.5, "moment.png")` draws a moment.

        fps   : frames a second; as many as a page has where it is not given
        marks : (time, text), what happened when; the events of the run where they are not given
        magnify : by how much deflections of flexible bodies are larger than they are, a number or "auto": the machine
                with the amplitudes of all modes multiplied, in which loops need not close
        """
        return pictures.scene(self, fps, marks, magnify)
