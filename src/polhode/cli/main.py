"""The commands. Each prints text for people, or with --json one object for programs."""

from __future__ import annotations

import json
import math
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any, NoReturn, cast

import typer

from .export import export
from .holding import constraint_lists, statement
from .linear import linearize
from .printing import noted, print_json, say
from .reading import Deriving, Reading, require_values, shared
from .replaying import replay
from .study import study
from .touching import devices
from .trimming import equilibrium
from .values import named_values, vector_values
from .viewing import view
from .wording import for_shell

app = typer.Typer(
    name="polhode",
    help="Dynamics of machines: from a URDF, SDFormat, MJCF or TOML file to equations of motion and native code.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

USAGE = cast(
    type[Exception], typer.BadParameter.__mro__[2]
)  # ClickException, from click or from Typer's own copy of it


def main() -> NoReturn:
    """Run the command line; faults become one message and exit code 1, wrong usage exit code 2."""
    warnings.showwarning = say
    try:
        code = app(standalone_mode=False)  # of a command that ended with typer.Exit
    except BrokenPipeError:
        sys.stderr.close()  # the reader has seen enough
        sys.exit(0)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except USAGE as error:
        text = str(cast(Any, error).format_message())  # the help itself where nothing was asked
        ended = text if text.endswith(("?", ".")) else f"{text}."
        at = getattr(error, "ctx", None)
        command = f" {at.info_name}" if at is not None and at.parent is not None else ""
        _fail(text if "\n" in text else f"{ended} See polhode{command} --help.", [], 2)
    except (ValueError, TypeError, KeyError, OSError, MemoryError, ModuleNotFoundError) as error:
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        _fail(for_shell(text), [for_shell(fault) for fault in getattr(error, "faults", [])], 1)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(text: str, faults: list[str], code: int) -> NoReturn:
    if "--json" in sys.argv:
        print(json.dumps({"error": text, "faults": faults or [text]}, indent=2))
    else:
        print(f"polhode: {text}", file=sys.stderr)
    sys.exit(code)


def _version(asked: bool) -> None:
    if asked:
        from polhode import __version__

        print(f"polhode {__version__}")
        raise typer.Exit


@app.callback()
def _options(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False) -> None:
    """Dynamics of machines: from a URDF, SDFormat, MJCF or TOML file to equations of motion and native code."""


@app.command()
@shared
def info(source: Reading) -> None:
    """Show what is in a file: the tree of bodies, coordinates, parameters, and what looks doubtful."""
    from .views import model_data, model_text

    model = source.model()
    if source.as_json:
        print_json(model_data(model))
    else:
        print(model_text(model))


@app.command()
@shared
def derive(
    source: Deriving,
    to: Annotated[str, typer.Option(help='What to write: "text", "latex", "c", "python" or "json".')] = "text",
    simplify: Annotated[bool, typer.Option("--simplify", help="Let SymPy simplify; for small systems.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file; with --to c, NAME.c or a folder.")
    ] = None,
) -> None:
    """Derive the equations of motion and write them as text, LaTeX, C99, Python or JSON."""
    from .views import TARGETS, equations_text

    kind = "json" if source.as_json and to == "text" else to
    if kind not in TARGETS:
        raise ValueError(f"--to {to}: expected one of {', '.join(TARGETS)}.")
    equations, whole = source.equations()
    written = equations_text(equations, whole, kind, simplify, output)
    if output is not None:
        files = written.splitlines()
        if source.as_json:
            print_json({"files": files})
        else:
            print(f"Wrote {', '.join(files)}.", file=sys.stderr)
    elif source.as_json and kind != "json":
        print_json({"to": kind, "text": written})
    else:
        print(written)


@app.command("eval")
@shared
def evaluate(
    source: Deriving,
    q: Annotated[str, typer.Option("--q", help='Coordinates: "0.1, pi/2" in order, or some: "elbow=0.1".')] = "",
    u: Annotated[str, typer.Option("--u", help="Speeds, in the same forms; those not given are 0.")] = "",
    tau: Annotated[
        str, typer.Option("--tau", help="Forces on the speeds, then controls of actuators, in the same forms.")
    ] = "",
    z: Annotated[str, typer.Option("--z", help="States that are not motion; those not given are at their start.")] = "",
    t: Annotated[float, typer.Option("--t", help="Time.")] = 0.0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="The state as elsewhere: q.elbow=0.3, u.elbow_dot=1; repeatable.")
    ] = None,
) -> None:
    """Evaluate the equations at a state: inertia matrix, bias, accelerations, energies."""
    from polhode.equations.inputs import input_names

    from .simulation import initial
    from .views import evaluated, evaluation_text

    if not math.isfinite(t):
        raise ValueError(f"--t: {t} is not a finite number.")
    equations, whole = source.equations()
    model = equations.model
    names = {group: [str(s.value) for s in getattr(equations, group)] for group in "quz"}
    driven = input_names(equations)
    rest = [model.neutral().tolist(), [0.0] * len(names["u"]), [state.start.number or 0.0 for state in model.states]]
    settled = initial(settings or [], equations, "--set", "quz")
    begun, still, starts = (
        [given.get(name, x) for name, x in zip(names[group], values, strict=True)]
        for group, values, given in zip("quz", rest, settled, strict=True)
    )
    found = evaluated(
        equations,
        whole,
        q=vector_values(q, names["q"], begun, "--q", "coordinate"),
        u=vector_values(u, names["u"], still, "--u", "speed"),
        z=vector_values(z, names["z"], starts, "--z", "state"),
        tau=vector_values(tau, driven, [0.0] * len(driven), "--tau", "speed or actuator"),
        t=t,
    )
    if source.as_json:
        print_json(found)
    else:
        print(evaluation_text(found))


@app.command()
@shared
def check(
    source: Reading,
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", help="One of those to compare; may be repeated. All by default.", show_default=False),
    ] = None,
    parameters: Annotated[
        str, typer.Option("--p", "--set", help='Values of parameters: "m1=2, L1=0.5"; others are drawn and shown.')
    ] = "",
    states: Annotated[int, typer.Option(help="How many random states.")] = 8,
    seed: Annotated[int, typer.Option(help="Where the random numbers begin.")] = 0,
    tolerance: Annotated[float, typer.Option(help="Of a relative difference.")] = 1e-10,
) -> None:
    """Derive a model by every method and compare them at random states; exit code 1 where two disagree."""
    from polhode.analyze import check as compare

    from .views import check_data

    found = compare(
        source.model(),
        methods=methods or None,
        values=named_values(parameters, "--p"),
        states=states,
        seed=seed,
        tolerance=tolerance,
    )
    if source.as_json:
        print_json(check_data(found))
    else:
        print(for_shell(str(found)))
    if not found.agree:
        raise typer.Exit(1)


app.command()(shared(linearize))
app.command()(shared(equilibrium))
app.command()(shared(export))
app.command()(shared(study))
app.command()(shared(view))
app.command()(shared(replay))
app.command()(devices)


@app.command()
@shared
def simulate(
    source: Deriving,
    t: Annotated[
        float | None, typer.Option("--t", help="Seconds to simulate; with --until, at most.", show_default=False)
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Initial state: q.elbow=0.3, u.elbow_dot=1, z.i=0.5; repeatable.")
    ] = None,
    keyframe: Annotated[
        str | None,
        typer.Option("--keyframe", help='Begin there; "file" is the pose of an MJCF file.', show_default=False),
    ] = None,
    guesses: Annotated[
        list[str] | None,
        typer.Option("--guess", help="Where to look for the rest of it, where loops close: a=-1,c=-1."),
    ] = None,
    tau: Annotated[
        list[str] | None,
        typer.Option("--tau", help='A force or control: "elbow_dot=-2*elbow + sin(t)", "motor=0.5"; may be repeated.'),
    ] = None,
    at: Annotated[
        list[str] | None, typer.Option("--at", help='Switch at a time: "2: engage brake, latch"; may be repeated.')
    ] = None,
    when: Annotated[
        list[str] | None,
        typer.Option("--when", help='Switch when something happens: "theta > 1: release latch"; may be repeated.'),
    ] = None,
    until: Annotated[
        list[str] | None, typer.Option("--until", help='End when something happens: "height < 0".')
    ] = None,
    integrator: Annotated[
        str,
        typer.Option(
            "--integrator", help="dop853, dopri5, rodas5p (stiff); rk4, midpoint, euler; moreau (time-stepping)."
        ),
    ] = "dop853",
    step: Annotated[
        float | None, typer.Option(help="Step of rk4, midpoint, euler and moreau.", show_default=False)
    ] = None,
    every: Annotated[float | None, typer.Option("--every", help="Seconds between outputs.", show_default=False)] = None,
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance; 1e-9.", show_default=False)] = None,
    atol: Annotated[float | None, typer.Option(help="Absolute tolerance; 1e-9.", show_default=False)] = None,
    longest: Annotated[
        float, typer.Option(help="The longest step of dop853, dopri5 and rodas5p.", show_default=False)
    ] = math.inf,
    reacting: Annotated[
        bool, typer.Option("--reacting", help="Reactions of constraints at every output, for plots and files.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the motion: a PNG, SVG or PDF file.")] = None,
    animate: Annotated[Path | None, typer.Option(help="Animate it: an HTML, GIF or MP4 file.")] = None,
    magnify: Annotated[
        str | None,
        typer.Option(
            help='Deflections of flexible bodies, as drawn by --animate: so much larger, or "auto".', show_default=False
        ),
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the motion as CSV.")] = None,
    parquet: Annotated[Path | None, typer.Option(help="Write the motion as Parquet.")] = None,
    hdf5: Annotated[Path | None, typer.Option(help="Write the motion as HDF5.")] = None,
) -> None:
    """Simulate a machine, draw and animate it; loops close first, what was set is kept, what was guessed may move."""
    from polhode.simulate import assemble
    from polhode.simulate.run import doubts
    from polhode.simulate.run import simulated as run
    from polhode.simulate.switchboard import SwitchError
    from polhode.simulate.switches import too_late

    from .simulation import beginning, check, forces, initial, magnified, summary, write
    from .switches import read_switches

    asked = {"plot": plot, "animate": animate, "to_csv": csv, "to_parquet": parquet, "to_hdf5": hdf5}
    check(asked)
    scale = magnified(magnify, animate)
    if not longest > 0:
        raise ValueError(f"--longest: {longest:g}, expected seconds, more than 0.")
    if t is None and not until:
        raise ValueError("--t is missing. Give the seconds to simulate, or --until what ends the run.")
    equations, whole = source.equations()
    switches, ends = read_switches(equations, at or [], when or [], until or [])
    dynamics = equations.compile()
    require_values(dynamics)
    q0, u0, z0 = initial(settings or [], equations, "--set", "quz")
    q_near, u_near = initial(guesses or [], equations, "--guess", "qu")
    begin = beginning(whole, keyframe)
    laws, z0, t0 = begin.controls | forces(tau or []), begin.z | z0, begin.time
    last = math.inf if t is None else t0 + t
    output = "steps" if t is None and every is None else every
    with noted() as warned:
        state = assemble(dynamics, begin.q | q_near | q0, begin.u | u_near | u0, keep=[*q0, *u0], t=t0, z0=z0)
        try:
            found = run(
                dynamics, last, output, reacting, q0=state.q, u0=state.u, z0=z0, t0=t0, tau=laws or None,
                method=integrator, step=step, rtol=rtol, atol=atol, longest=longest,
                switches=switches, _until=ends,
            )  # fmt: skip
        except SwitchError as error:  # at the start: later ones end the run
            raise ValueError(str(error)) from error
        for said in filter(None, (too_late(switches, last), *doubts(found))):
            say(said)
            warned.append(for_shell(said))
        written = write(found, asked, scale)
    if source.as_json:
        print_json(summary(found, written, warned) | constraint_lists(equations, whole))
    else:
        said = statement(equations, whole, "Residuals are below.", moves=True)
        happened = f"Events\n{found.events}" if any(event.what for event in found.events) else ""
        parts = [str(found.outcome), said, happened, str(found.audit())]
        print(for_shell("\n\n".join(part for part in parts if part)))
        print("".join(f"Wrote {path}.\n" for path in written), end="", file=sys.stderr)
    if not found.outcome.finished:
        raise typer.Exit(1)
