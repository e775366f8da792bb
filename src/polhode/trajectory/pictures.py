"""A trajectory as pictures: curves with their units, and the machine in motion."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from polhode.graph import diff, free_symbols, symbol, zeros
from polhode.model import TIME, Brake, Clutch, Coupling, Lock, Model, Relation, Stop
from polhode.model.algebra import twists
from polhode.model.errors import closest
from polhode.model.motors import CURRENT
from polhode.view import FIGURES, FILMS, Curve, Scene, build, figure, for_animation, phase_figure, save
from polhode.view.bent import check_magnify, magnification
from polhode.view.timeline import MOST_BANDS

from .events import spans_of
from .export import shown_modes
from .quantities import Names, of_state, run

if TYPE_CHECKING:
    from polhode.equations import Equations

    from .trajectory import Trajectory

# what a variable is, by its unit
_QUANTITIES = {
    "rad": "Angles",
    "m": "Positions",
    "1": "Quaternion",
    "rad/s": "Angular speeds",
    "m/s": "Speeds",
    "N m": "Torques",
    "N": "Forces",
}
# and of the modes of bodies that deform, which are small beside them
_MODAL = {"m": "Deflections", "rad": "Twists", "m/s": "Speeds of deflections", "rad/s": "Speeds of twists"}
ROUNDING, TINY = 1e-9, 1e-6  # of the largest of a unit; what changes by less than that share does not move
_EXACT = 1e-13  # of the largest energy; a drift by less is rounding
_FINER, _LONG = 8, 20_000  # points of a phase curve for each output; outputs that are enough by themselves
_EFFORT = {"rad/s": "N m", "m/s": "N", "rad": "N m", "m": "N"}
_REACTIONS = {"N m": "Reaction moments", "N": "Reaction forces", "": "Reactions"}


def units(traj: Trajectory) -> dict[str, str]:
    """The unit of every coordinate, speed and input, from the joint maps; "" where that is not known, as of states."""
    found, efforts = units_of(traj.dynamics.equations, (*traj.speeds, *traj.other_speeds), traj.states)
    return {"t": "s"} | found | dict(zip(traj.inputs, efforts, strict=True))


def units_of(eq: Equations, speeds: Sequence[str], states: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The units of coordinates, of speeds and of states, likewise; and of the inputs, in their order."""
    kin = eq.kinematics
    found: dict[str, str] = dict.fromkeys((*speeds, *states), "") | coordinate_units(kin)
    for link in kin.joints.links:
        pairs = (
            []
            if link.section
            else [(s, "rad/s" if h.w != zeros(3) else "m/s") for s, h in zip(link.speeds, link.H, strict=True)]
        )
        if link.modes is not None:
            pairs += [(s, f"{unit}/s") for s, unit in zip(link.modes.rates, link.modes.flexible.units, strict=True)]
        found |= {str(s.value): unit for s, unit in pairs if s.op == "symbol" and str(s.value) in found}
    efforts = [_EFFORT.get(found[str(speed.value)], "") for speed in eq.u]
    efforts += _control_units(eq.model, found)
    found |= {name: "A" for name in (CURRENT.format(m.name) for m in eq.model.motors) if name in states}
    return found, efforts


def _control_units(model: Model, units: dict[str, str]) -> list[str]:
    """V of electrical motors, the effort of what an actuator turns or moves one to one; else ""."""
    electrical, found = {m.name for m in model.motors if m.constant is not None}, []
    for actuator in model.actuators:
        direct = actuator.force is None and len(actuator.along) == 1 and actuator.along[0][1] in (1, -1)
        moved = _EFFORT.get(units.get(actuator.along[0][0], ""), "") if direct else ""
        found.append("V" if actuator.name in electrical else moved)
    return found


def coordinate_units(kin: Any) -> dict[str, str]:
    """The unit of every coordinate: rad, m, or 1 for parts of a quaternion."""
    found: dict[str, str] = {}
    for link in kin.joints.links:
        part = link.part
        lengths = ["rad" if h.w != zeros(3) else "m" for h in twists(part.basis)]
        if part.quaternion:
            lengths = ["1"] * 4 + ["m"] * (part.nq - 4)
        found |= dict(zip((str(s.value) for s in link.coordinates), lengths, strict=True))
        if link.modes is not None:
            found |= dict(zip((str(s.value) for s in link.modes.d), link.modes.flexible.units, strict=True))
    return found


def _reaction_units(traj: Trajectory) -> list[str]:
    """N for rows that hold a place, N m for those that hold a direction; "" for relations of several variables."""
    held = traj.dynamics.equations.rows
    model = held.kinematics.model
    bonds = {c.name: c for c in (*model.constraints, *model.candidates) if not isinstance(c, Coupling)}
    found = []
    for name, label in zip(held.names, held.labels, strict=True):
        bond = bonds.get(name)  # None for a coupling
        if bond is None or isinstance(bond, Relation):
            found.append("" if bond is None else _drive_unit(bond, traj.units))
        elif isinstance(bond, Stop | Brake | Clutch | Lock):
            found.append(_EFFORT.get(_held_unit(traj, bond, label), ""))
        else:
            found.append("N m" if label.removeprefix(name).startswith((".tilt", ".turn")) else "N")
    return found


def _held_unit(traj: Trajectory, bond: Stop | Brake | Clutch | Lock, label: str) -> str:
    """The unit of the coordinate that a row holds, rad or m; of one coordinate for each speed of a joint."""
    held = label.removeprefix(f"{bond.name}.") if isinstance(bond, Lock) else ""
    if isinstance(bond, Stop):
        return traj.units.get(bond.coordinate, "")
    if isinstance(bond, Brake | Clutch):
        held = bond.speed if isinstance(bond, Brake) else bond.ends[0]
    for body in traj.dynamics.equations.kinematics.model.bodies:
        joint, speeds = body.joint, body.joint.speeds()
        if joint.nu == joint.nq and (held in speeds or (isinstance(bond, Lock) and joint.name == bond.joint)):
            k = speeds.index(held) if held in speeds else 0
            return traj.units.get(joint.coordinates()[k], "")
    return traj.units.get(held, "")


def _drive_unit(relation: Relation, units: dict[str, str]) -> str:
    """The effort of the only variable that an expression moves, where it moves as much."""
    moved = [s for s in free_symbols(relation.value) if s != TIME and str(s.value) in units]
    if len(moved) != 1 or diff(relation.value, moved[0]) not in (1, -1):
        return ""
    return _EFFORT.get(units[str(moved[0].value)], "")


def _owners(traj: Trajectory) -> dict[str, str]:
    """The joint of every variable that shares its joint with many; "rotors" of those, which turn much faster."""
    found: dict[str, str] = {}
    for body in traj.dynamics.equations.model.bodies:
        if body.rotor:
            found |= dict.fromkeys((*body.joint.coordinates(), *body.joint.speeds()), "rotors")
    for link in traj.dynamics.equations.kinematics.joints.links:
        if len(link.speeds) >= 3 and not link.section:
            first = str(link.coordinates[0].value)
            bodies = traj.dynamics.equations.kinematics.model.bodies
            joint = next(body.joint.name for body in bodies if first in body.joint.coordinates())
            found |= {str(s.value): joint for s in (*link.coordinates, *link.speeds) if s.op == "symbol"}
    return found


def _most(traj: Trajectory) -> dict[str, float]:
    """The largest coordinate or speed of each unit; speeds of at least that coordinate in a run."""
    found = {"rad": 1.0}
    for name in (*traj.coordinates, *traj.speeds):
        if unit := traj.units[name]:
            found[unit] = max(found.get(unit, 0.0), float(np.nanmax(np.abs(traj[name]), initial=0.0)))
    if (span := float(traj.t[-1] - traj.t[0])) > 0:
        for unit in found.keys() & {"rad", "m"}:
            found[f"{unit}/s"] = max(found.get(f"{unit}/s", 0.0), found[unit] / span)
    return {unit: max(size, TINY) for unit, size in found.items()}


def _curves(traj: Trajectory, names: Sequence[str] | None) -> list[Curve]:
    """The named curves, or those that a first look needs; coordinates left, speeds right."""
    unit, owner = traj.units, _owners(traj)
    bodies = traj.dynamics.equations.model.bodies
    modes = {name: body.name for body in bodies for name in (*body.modes, *body.rates)}
    bent = {name for name in modes if name in traj.coordinates and traj[name].any()}
    found: dict[str, Curve] = {}

    scales = _most(traj)

    def add(
        name: str, values: np.ndarray, quantity: str, unit: str, section: int, side: int | None = None, note: str = ""
    ) -> None:
        place = {"section": section, "side": side} if names is None else {}
        least = ROUNDING * scales.get(unit, 0.0) if name not in modes else 0.0
        least = _EXACT * np.abs(traj.energy).max() if name == "drift" else least
        found[name] = Curve(name=name, values=values, quantity=quantity, unit=unit, note=note, least=least, **place)  # type: ignore[arg-type]

    asked = tuple(name for name in traj.other_speeds if name in (names or ()))
    groups = (traj.coordinates, traj.speeds + asked, traj.inputs)
    driven = dict(zip(traj.inputs, traj.speeds, strict=False))  # forces on speeds; the controls of actuators follow
    for k, group in enumerate(groups):
        for name in group:
            values = traj[name]
            if k == 2 and names is None and not values.any():
                continue  # nothing acts there
            if names is None and k < 2 and name in modes and not {name, name.removesuffix("_dot")} & bent:
                continue  # it stays straight
            variable = driven.get(name, name)
            other = ("", "Generalised speeds", "Generalised forces")[k]
            modal = _MODAL.get(unit[variable]) if variable in modes else None
            known = _QUANTITIES.get(unit[name], other) if k < 2 or name in driven else "Controls"
            if modal is not None:
                known = f"{modal} of {modes[variable]}" if k < 2 else "Modal forces"
            quantity = known + (f" of {owner[variable]}" if variable in owner and modal is None else "")
            side = k if k < 2 else None
            add(name, values, quantity, "" if unit[name] == "1" else unit[name], int(k == 2), side)
    for name in traj.states:
        add(name, traj[name], "Currents" if unit[name] == "A" else "States", unit[name], 1)
    if names is None or {"kinetic", "potential", "total", "drift"} & set(names):
        for k, name in enumerate(("kinetic", "potential", "total")):
            add(name, traj.energy[:, k], "Energy", "J", 2, 0)
        add("drift", traj.energy_drift, "Energy drift", "J", 2, 1, traj.audit().caveat)
    for name, row in zip(traj.constraint_names, () if traj.residuals is None else traj.residuals.T, strict=False):
        add(name, row, "Constraint residuals", "", 3)
    if traj.reactions is not None:
        efforts = _reaction_units(traj)
        most = {e: np.abs(traj.reactions[:, [f == e for f in efforts]]).max(initial=0.0) for e in set(efforts)}
        for name, row, effort in zip(traj.reaction_names, traj.reactions.T, efforts, strict=False):
            if names is not None or np.abs(row).max(initial=0.0) > 1e-12 * most[effort]:  # else it is rounding
                add(f"reaction {name}", row, _REACTIONS[effort], effort, 3)
    if names is None:
        return list(found.values())
    for name in names:
        if name not in found:
            file = f" The path of a figure ends in {', '.join(FIGURES)}." if Path(name).suffix else ""
            raise KeyError(f"There is nothing to plot called {name!r}. {closest(name, found)}{file}")
    return [found[name] for name in dict.fromkeys(names)]


def names_a_figure(name: Any) -> TypeGuard[str | Path]:
    """Whether this is the path of a figure, and no name of something to draw."""
    return isinstance(name, Path) or (isinstance(name, str) and name.lower().endswith(FIGURES))


def named_and_path(names: Sequence[Any], path: Any) -> tuple[list[str] | None, Any]:
    """Names one by one or in lists, and the path, which may be the last of them."""
    listed = [n for each in names if each is not None for n in ([each] if isinstance(each, (str, Path)) else each)]
    if listed and (isinstance(names[-1], Path) or (path is None and names_a_figure(names[-1]))):
        if path is not None:
            raise ValueError(f"plot: {listed[-1]!r:.60} and path={path!r:.60} both say where to, expected one of them.")
        *listed, path = listed
    elif path is None and len(names) > 1 and isinstance(names[0], (list, tuple)):  # plot(names, path)
        *listed, path = listed
    return [str(name) for name in listed] or None, path


def phase(traj: Trajectory, x: str, y: str | None, path: Any) -> Any:
    """Draw one quantity over another, with jumps dotted; the path may be the last that is given, as for `plot`."""
    if path is None and names_a_figure(y):
        y, path = None, y
    names = x, y or _rate_of(traj, x)
    across, up = (_quantity(traj, name) for name in names)
    note = "" if traj.outcome.finished else str(traj.outcome)
    struck = [event.time for event in traj.events[1:] if event.impulses]
    jumps = sorted({int(np.searchsorted(traj.t, time)) for time in struck} - {0, len(traj.t)})
    values, places = _finer(traj, names, (across[1], up[1]), jumps)
    (across, up), jumps = ((across[0], values[0]), (up[0], values[1])), places[jumps].tolist()
    return phase_figure(across, up, jumps, traj.dynamics.equations.model.name, note, path)


def _finer(
    traj: Trajectory, names: Sequence[str], values: Sequence[np.ndarray], jumps: Sequence[int]
) -> tuple[Sequence[np.ndarray], np.ndarray]:
    """Two quantities at the outputs and at times between, so that curves look curved, and where the outputs are there.

    Only at the outputs where a quantity is none of the state, where a run has many, and across jumps.
    """
    rows, asked = np.arange(len(traj.t)), [of_state(traj, name) for name in names]
    if len(rows) > _LONG or any(e is None for e in asked):
        return values, rows
    gaps = np.diff(traj.t)
    gaps[[k - 1 for k in jumps]] = 0.0
    share, first = np.arange(1, _FINER) / _FINER, np.flatnonzero(gaps > 0)
    inner = (traj.t[first, None] + gaps[first, None] * share).ravel()
    q, u = traj.at(inner)
    at = inner, q, u, np.zeros((len(inner), len(traj.inputs))), traj.beside(inner)
    found = run(traj, [e for e in asked if e is not None], *at)
    order = np.concatenate([rows, (first[:, None] + share).ravel()])
    sort = np.argsort(order)
    return [np.concatenate(both)[sort] for both in zip(values, found, strict=True)], np.searchsorted(order[sort], rows)


def _quantity(traj: Trajectory, name: str) -> tuple[str, np.ndarray]:
    """A quantity by name, or an expression, with its unit where that is known."""
    known = {curve.name: curve for curve in _curves(traj, None)}
    if name in known:
        return (f"{name} [{known[name].unit}]" if known[name].unit else name), known[name].values
    values = traj[name] if name in traj.units else traj.evaluate(name)
    unit = traj.units.get(name, "")
    return (f"{name} [{unit}]" if unit not in ("", "1") else name), values


def _rate_of(traj: Trajectory, name: str) -> str:
    """The speed that is the rate of a coordinate."""
    eq = traj.dynamics.equations
    places = {str(q.value): k for k, q in enumerate(eq.q)}
    rate = eq.kinematics.q_dot[places[name]] if name in places else None
    if rate is None or rate.op != "symbol":
        if name.isidentifier() and name not in Names(traj):
            raise KeyError(f"phase: there is no {name!r:.60}. {closest(name, traj.names)}")
        raise ValueError(
            f"phase: {name!r:.60} is no coordinate with a rate of its own. Give y=, what is drawn over it."
        )
    return str(rate.value)


def player(traj: Trajectory) -> str:
    """A player for notebooks, with what became of the run."""
    return f"{scene(traj)._repr_html_()}<div>{escape(str(traj.outcome))}</div>"


def plot(traj: Trajectory, names: Sequence[str] | None, path: Any) -> Any:
    """Draw the curves, what happened, and what held; a run that stopped says why."""
    note = "" if traj.outcome.finished else str(traj.outcome)
    bands = _bands(traj, names)
    named = None if names is None else [name for name in names if name not in bands or name in traj.constraint_names]
    events = [(event.time, event.reason) for event in traj.events[1:]]
    title = traj.dynamics.equations.model.name
    return figure(traj.t, _curves(traj, named), title, note, path, events, bands)


def _bands(traj: Trajectory, names: Sequence[str] | None) -> dict[str, list[tuple[float, float, str]]]:
    """What the named constraints did; of none, what those did that changed."""
    spans, shown = spans_of(traj.events, float(traj.t[-1])), shown_modes(traj)
    named = [name for name in names or () if name in spans]
    return {name: spans[name] for name in named or shown if named or len(spans[name]) > 1}


def scene(
    traj: Trajectory,
    fps: int | None = None,
    marks: Sequence[tuple[float, str]] | None = None,
    magnify: float | str = 1,
) -> Scene:
    """The machine in motion, in frames evenly spaced in time; without a rate, as many as a page should have.

    Magnified, it is drawn with the amplitudes of all modes multiplied.
    """
    check_magnify(magnify)
    dyn, span = traj.dynamics, float(traj.t[-1] - traj.t[0])
    model = dyn.equations.model
    merged = model.merged().bodies
    bodies = [body.name for body in merged]
    flexible = [(body, body.flexible) for body in merged if body.flexible is not None]
    moving = len(bodies) + sum(len(line) for _, shape in flexible for line in shape.lines)
    # as smooth as a screen, slowed down too, and no larger than a page should be
    most = max(600, 100_000 // max(moving, 1))
    frames = int(np.clip(60 * span, 240, most)) if fps is None else round(span * fps) + 1
    t = np.linspace(traj.t[0], traj.t[-1], frames if span else 1)
    q, u = traj.at(t)
    values = {s: float(e) for s, e in dyn.values.items()}
    values |= dict(zip(map(symbol, dyn.parameters), map(float, traj.parameters), strict=True))
    places = {body.name: [traj.coordinates.index(name) for name in body.modes] for body, _ in flexible}
    scale = magnification(magnify, [(shape, q[:, places[body.name]]) for body, shape in flexible], values)
    at = t, q, u, np.zeros((len(t), len(traj.inputs))), traj.beside(t)
    poses = run(traj, [dyn.equations.pose(name) for name in bodies], *at) if bodies else []
    words: dict[str, Any] = {"title": model.name, "note": str(traj.outcome), "alarm": not traj.outcome.finished}
    words |= {"magnified": scale, "amplitudes": {name: q[:, at] for name, at in places.items()}}
    shown = tuple((e.time, e.short) for e in traj.events[1:]) if marks is None else tuple(marks)
    modes = spans_of(traj.events, float(traj.t[-1]))
    words["bands"] = tuple((name, tuple(pieces)) for name, pieces in _bands(traj, None).items())[:MOST_BANDS]
    return build(model, dict(zip(bodies, poses, strict=True)), values, t, modes, marks=shown, **words)


def animate(traj: Trajectory, path: Any, fps: int, magnify: float | str) -> Path:
    """Write a page or a film."""
    target = for_animation(path)
    made = scene(traj, fps if target.suffix.lower() in FILMS else None, magnify=magnify)
    return save(made, target, fps)
