"""The file of a command, how it is read and derived: options that commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from polhode.model.errors import closest

from .holding import bare
from .values import named_values

if TYPE_CHECKING:
    from polhode.equations import Equations
    from polhode.model import Model


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A file and how it is read. Each field is an argument or an option."""

    file: Annotated[Path, typer.Argument(help="A URDF, SDFormat, MJCF or TOML file, or a .xacro.", show_default=False)]
    floating: Annotated[
        bool,
        typer.Option("--floating", help="Give the root of a URDF six degrees of freedom."),
    ] = False
    angles: Annotated[bool, typer.Option("--angles", help="With --floating: angles instead of a quaternion.")] = False
    passive: Annotated[bool, typer.Option("--passive", help="Let damping and friction of a URDF's joints act.")] = False
    limits: Annotated[
        str | None,
        typer.Option(help='Limits of joints: "stop" in simulations, or "ignore".', show_default=False),
    ] = None
    only: Annotated[
        str | None,
        typer.Option("--model", help="Which model of an SDFormat file with several.", show_default=False),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False

    def model(self) -> Model:
        from polhode.formats import load

        if self.angles and not self.floating:
            raise ValueError("--angles only goes with --floating.")
        floating = "angles" if self.angles else self.floating or None
        return load(
            self.file,
            floating=floating,
            passive=True if self.passive else None,
            limits=self.limits,
            model=self.only,
        )


@dataclass(frozen=True, kw_only=True)
class Deriving(Reading):
    """A file, and how its equations are derived."""

    method: Annotated[
        str | None,
        typer.Option(
            help="poincare, lagrange, denoc, quasicoordinate, book, kane; by default what suits the file.",
            show_default=False,
        ),
    ] = None
    bare: Annotated[bool, typer.Option("--bare", help="Leave out constraints, couplings and stops: the bare tree.")] = (
        False
    )
    parameters: Annotated[str, typer.Option("--p", help='Values of parameters: "m1=2, L1=0.5".')] = ""

    def equations(self) -> tuple[Equations, Model]:
        """The equations, and the model of the file, of whose constraints they may leave some out."""
        from polhode.equations import formulate
        from polhode.kernels.loop import METHODS
        from polhode.simulate.asked import SCIPY

        integrator = self.method if self.method in METHODS else SCIPY.get(self.method or "")
        if integrator is not None:
            kin = "" if integrator == self.method else f", SciPy's, nearest to {integrator!r} here"
            raise ValueError(
                f"--method {self.method}: that is an integrator{kin}. Give simulate --integrator {integrator}."
            )
        whole = self.model().substituted(named_values(self.parameters, "--p"))
        return formulate(bare(whole) if self.bare else whole, method=self.method), whole


def require_values(dynamics: Any, given: Collection[str] = ()) -> None:
    """Refuse parameters without values, and values of what is none."""
    for name in given:
        if name not in dynamics.parameters:
            raise ValueError(f"--p: there is no parameter {name!r:.60}. {closest(name, dynamics.parameters)}")
    if missing := [name for name in dynamics.parameters if name not in given]:
        listed = ", ".join(f"{name}=..." for name in missing)
        raise ValueError(f"The model has parameters without values. Give --p {listed!r}.")


def shared(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take the fields of its first parameter, a dataclass, as arguments and options of its own."""
    hints = get_type_hints(command, include_extras=True)
    first, *own = inspect.signature(command).parameters.values()
    group, kinds = hints[first.name], get_type_hints(hints[first.name], include_extras=True)

    def option(name: str, kind: Any, usual: Any) -> inspect.Parameter:
        given = inspect.Parameter.empty if usual is MISSING else usual
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=given, annotation=kind)

    file, *rest = (option(f.name, kinds[f.name], f.default) for f in fields(group))
    every = [file, *(option(p.name, hints[p.name], p.default) for p in own), *rest]

    def run(**given: Any) -> None:
        command(group(**{name: given.pop(name) for name in kinds}), **given)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {option.name: option.annotation for option in every}
    run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]  # what Typer reads
    return run
