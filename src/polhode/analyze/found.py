"""What `equilibrium` finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from polhode.equations import Dynamics
from polhode.graph import Expr
from polhode.model.elsewhere import Elsewhere
from polhode.model.errors import closest

from .linear_model import LinearModel
from .linearize import linearize
from .modes import growing, html_table
from .unknowns import named

PARTS = ("q", "u", "z", "tau", "controls", "p")
_HEAD = ("", "value", "")


class EquilibriumError(ValueError):
    """A machine that does not stay as it is."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Equilibrium(Elsewhere):
    """A state in which a machine stays as it is, at rest or moving steadily.

    q, u, z, tau, controls, p : by name; t : the time; laws : expressions that are added to tau and controls
    unknowns  : what was found; followed : what constraints tie to it
    rates     : of the coordinates that move steadily
    free      : directions of unknowns that stay undetermined, each by name, the largest 1
    residual  : what is left of the accelerations and rates, of what counts as 1
    reactions : of the rows that hold, by label; holds : names of the constraints; active : as they were given
    notes     : limits that are reached, constraints that would have to pull
    """

    _elsewhere: ClassVar[Mapping[str, str]] = {
        "success": "nothing: there is an equilibrium, or an error",
        **dict.fromkeys(("A", "modes", "eigenvalues"), "lin = held.linear(), then lin.A, lin.modes()"),
    }

    name: str
    q: dict[str, float]
    u: dict[str, float]
    z: dict[str, float]
    tau: dict[str, float]
    controls: dict[str, float]
    p: dict[str, float]
    t: float
    unknowns: tuple[str, ...]
    followed: tuple[str, ...]
    rates: dict[str, float]
    free: tuple[dict[str, float], ...]
    residual: float
    reactions: dict[str, float]
    holds: tuple[str, ...]
    notes: tuple[str, ...]
    laws: dict[str, Expr] = field(default_factory=dict)
    active: tuple[str, ...] | None = None
    dynamics: Dynamics

    def _where(self, name: str) -> str:
        if any(name in getattr(self, part) for part in PARTS):
            return f"Write held[{name!r}]."
        return super()._where(name)

    def __getitem__(self, name: str) -> float:
        """A value by its name, of the force on x_dot by "tau.x_dot"."""
        known = self.values()
        if name not in known:
            raise KeyError(f"There is no {name!r} in this equilibrium. {closest(name, list(known))}")
        return known[name]

    def values(self) -> dict[str, float]:
        """Everything by name."""
        parts = [(name, part, value) for part in PARTS for name, value in getattr(self, part).items()]
        return dict(zip(named([(name, part) for name, part, _ in parts]), (v for _, _, v in parts), strict=True))

    @property
    def at_rest(self) -> bool:
        return not self.rates

    def start(self) -> dict[str, Any]:
        """What `simulate`, `Simulation` and `linearize` take to begin there."""
        given = {
            "q0": self.q,
            "u0": self.u,
            "z0": self.z,
            "tau": self._driven(self.tau),
            "controls": self._driven(self.controls),
            "p": self.p,
        }
        found: dict[str, Any] = {key: dict(part) for key, part in given.items() if part}
        return found | ({} if self.t == 0 else {"t0": self.t})

    def _driven(self, part: Mapping[str, float]) -> dict[str, Any]:
        """Inputs that are not 0, with their laws."""
        found: dict[str, Any] = {}
        for name, value in part.items():
            law = self.laws.get(name)
            if law is not None:
                found[name] = law + value
            elif value:
                found[name] = value
        return found

    def linear(self, inputs: Iterable[str] | None = None, outputs: Any = None) -> LinearModel:
        """The linear model about it, with the same constraints."""
        return linearize(self.dynamics, inputs=inputs, outputs=outputs, active=self.active, **self.start())

    @property
    def stable(self) -> bool:
        """Whether nothing grows there: eigenvalues of the linear model have no positive real part, beyond rounding.

        Swings without damping count as stable, and what is free to drift, as a bicycle along the ground.
        """
        return not growing(self.linear().A)

    def rows(self) -> list[tuple[str, str, str]]:
        """Name, value and what it is, a row each."""
        found = []
        for name, value in self.values().items():
            if name.startswith("tau.") and not value and name not in self.unknowns:
                continue
            said = "found" if name in self.unknowns else "follows" if name in self.followed else ""
            if any(name in direction for direction in self.free):
                said = "free"
            if name in self.rates:
                said += f"{', ' if said else ''}moves at {self.rates[name]:.6g} a second"
            found.append((name, f"{0.0 if abs(value) < 1e-14 else value:.6g}", said))
        return found

    def _heading(self) -> str:
        kind = "Equilibrium" if self.at_rest else "Steady motion"
        return f"{kind} of {self.name!r}, residual {self.residual:.1e}"

    def _remarks(self) -> list[str]:
        lines = [f"Holding {', '.join(map(repr, self.holds))}."] if self.holds else []
        for direction in self.free:
            told = " + ".join(name if value == 1 else f"{value:.4g} {name}" for name, value in direction.items())
            lines.append(f"Not determined: {told.replace('+ -', '- ')}; what is nearest to the guess was taken.")
        return [*lines, *self.notes]

    def __str__(self) -> str:
        rows = self.rows()
        wide, long = (max((len(row[k]) for row in rows), default=0) for k in (0, 1))
        body = [f"{name:<{wide}}  {value:>{long}}  {said}".rstrip() for name, value, said in rows]
        return "\n".join([self._heading(), *self._remarks(), "", *body])

    def __repr__(self) -> str:
        return f"{self._heading()}: {', '.join(f'{n} = {self.values()[n]:.6g}' for n in self.unknowns[:8])}"

    def _repr_html_(self) -> str:
        from html import escape

        remarks = "<br>".join(escape(line) for line in [self._heading(), *self._remarks()])
        return f"<div>{remarks}</div>" + html_table(_HEAD, self.rows())
