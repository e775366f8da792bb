"""The commands. Each prints text for people, or with --json one object for programs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from .values import named_values, vector_values

app = typer.Typer(
    name="polhode",
    help="Dynamics of machines: from a URDF, MJCF or TOML file to equations of motion and native code.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

File = Annotated[Path, typer.Argument(help="A URDF, MJCF or TOML file.", show_default=False)]
Floating = Annotated[bool, typer.Option("--floating", help="Give the root of a URDF six degrees of freedom.")]
Angles = Annotated[bool, typer.Option("--angles", help="With --floating: angles instead of a quaternion.")]
Method = Annotated[str, typer.Option(help='The formulation: "poincare" or "lagrange".')]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Parameters = Annotated[str, typer.Option("--p", help='Values of parameters: "m1=2, L1=0.5".')]


def main() -> NoReturn:
    """Run the command line; faults become one message and exit code 1."""
    try:
        app()
    except BrokenPipeError:
        sys.stderr.close()  # the reader has seen enough
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(130)
    except (ValueError, KeyError, OSError) as error:
        _fail(error, as_json="--json" in sys.argv)
    sys.exit(0)


def _fail(error: Exception, as_json: bool) -> NoReturn:
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    if as_json:
        print(json.dumps({"error": text, "faults": list(getattr(error, "faults", [text]))}, indent=2))
    else:
        print(f"polhode: {text}", file=sys.stderr)
    sys.exit(1)


def _load(file: Path, floating: bool, angles: bool) -> Any:
    from polhode.formats import load

    if angles and not floating:
        raise ValueError("--angles only goes with --floating.")
    return load(file, floating="angles" if angles else floating)


def _print(data: dict[str, Any]) -> None:
    print(json.dumps(data, indent=2, ensure_ascii=False))


@app.command()
def info(file: File, floating: Floating = False, angles: Angles = False, as_json: Json = False) -> None:
    """Show what is in a file: the tree of bodies, coordinates, parameters, and what looks doubtful."""
    from .views import model_data

    model = _load(file, floating, angles)
    if as_json:
        _print(model_data(model))
        return
    print(model)
    findings = model.report().findings
    if findings:
        print("\nWorth knowing:")
        print("\n".join(f"  - {finding}" for finding in findings))


@app.command()
def derive(
    file: File,
    method: Method = "poincare",
    to: Annotated[str, typer.Option(help='What to write: "text", "latex", "c", "python" or "json".')] = "text",
    simplify: Annotated[bool, typer.Option("--simplify", help="Let SymPy simplify; for small systems.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file instead.")] = None,
    floating: Floating = False,
    angles: Angles = False,
    parameters: Parameters = "",
    as_json: Json = False,
) -> None:
    """Derive the equations of motion and write them as text, LaTeX, C99, Python or JSON."""
    from polhode.equations import formulate

    from .views import TARGETS, equations_text

    kind = "json" if as_json and to == "text" else to
    if kind not in TARGETS:
        raise ValueError(f"--to {to}: expected one of {', '.join(TARGETS)}.")
    equations = formulate(_load(file, floating, angles), method=method)
    written = equations_text(equations, kind, simplify, named_values(parameters, "--p"), output)
    if output is not None:
        files = written.splitlines()
        if as_json:
            _print({"files": files})
        else:
            print(f"Wrote {', '.join(files)}.", file=sys.stderr)
    elif as_json and kind != "json":
        _print({"to": kind, "text": written})
    else:
        print(written)


@app.command("eval")
def evaluate(
    file: File,
    q: Annotated[str, typer.Option("--q", help='Coordinates: "0.1, 0.2" in order, or "elbow=0.1, wrist=0.2".')],
    u: Annotated[str, typer.Option("--u", help="Speeds, in the same forms.")],
    tau: Annotated[str, typer.Option("--tau", help="Forces on the speeds; left out, there are none.")] = "",
    t: Annotated[float, typer.Option("--t", help="Time.")] = 0.0,
    method: Method = "poincare",
    floating: Floating = False,
    angles: Angles = False,
    parameters: Parameters = "",
    as_json: Json = False,
) -> None:
    """Evaluate the equations at a state: inertia matrix, bias, accelerations, energies."""
    from polhode.equations import formulate

    from .views import evaluated, evaluation_text

    equations = formulate(_load(file, floating, angles), method=method)
    speeds = [str(s.value) for s in equations.u]
    found = evaluated(
        equations,
        q=vector_values(q, [str(s.value) for s in equations.q], "--q", "coordinate"),
        u=vector_values(u, speeds, "--u", "speed"),
        tau=vector_values(tau, speeds, "--tau", "speed") if tau else [0.0] * len(speeds),
        t=t,
        values=named_values(parameters, "--p"),
    )
    if as_json:
        _print(found)
    else:
        print(evaluation_text(found))
