"""Equations as source text that stands alone: C99 and Python.

One function writes the terms of the equations. Of a machine without constraints, accelerations are among
them. With constraints, their rows are, and a second function eliminates them: `held.c` and `held.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from polhode.compile import Function, compile
from polhode.compile.naming import Names, comment
from polhode.graph import Expr, Matrix, substitute
from polhode.kernels.rows import FLOOR
from polhode.model.fields import short

from .dynamics import accelerations
from .inputs import inputs
from .native import bodies
from .parameters import parameter_values

if TYPE_CHECKING:
    from .equations import Equations


@dataclass(frozen=True, kw_only=True)
class CSource:
    """Source and header in C99; NAME.c includes NAME.h."""

    name: str
    source: str
    header: str

    def save(self, folder: str | Path) -> tuple[Path, Path]:
        """Write NAME.c and NAME.h; return their paths."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        return self.write(target / f"{self.name}.c")

    def write(self, path: Path) -> tuple[Path, Path]:
        """Write the source to a file and the header beside it; return their paths."""
        header = path.with_suffix(".h")
        path.write_text(self.source.replace(self._include, f'#include "{header.name}"\n'), encoding="utf-8")
        header.write_text(self.header, encoding="utf-8")
        return path, header

    @property
    def alone(self) -> str:
        """One text with both."""
        return self.source.replace(self._include, self.header)

    @property
    def _include(self) -> str:
        return f'#include "{self.name}.h"\n'


def c_source(eq: Equations, values: Mapping[Any, Any] | None = None, note: str = "") -> CSource:
    """Write the equations in C: `dynamics_NAME`, and with constraints `forward_dynamics_NAME`.

    values : of parameters that become constants; the others are inputs p
    note   : heads the source, as a comment
    """
    made = _compiled(eq, values, "c")
    source, header = made.source, made.header
    if _has_rows(eq):
        source, header = source + _held_c(eq, made), _declared(eq, made)
    if len(eq.controls):
        header = _controlled(eq, made, header)
    head = "/* " + re.sub(r"/\*|\*/|\?\?|\\|\s", " ", note) + " */\n" if note else ""
    return CSource(name=made.name, source=head + source, header=header)


def _compiled(eq: Equations, values: Mapping[Any, Any] | None, target: str) -> Function:
    """The function (q, u, tau, t, z, p) -> terms, (z and p where there are any)."""
    tau, rows = inputs(eq), eq.constraints
    outputs: dict[str, Matrix] = {"mass_matrix": eq.M, "bias": eq.c, "forces": eq.Q}
    if _has_rows(eq):
        outputs |= {"J": rows.J, "gamma": rows.gamma, "phi": rows.phi, "psi": rows.psi, "reference": rows.reference}
    else:
        outputs["udot"] = accelerations(eq, tau[: len(eq.u)])
    outputs |= {"qdot": eq.kinematics.q_dot} | ({"zdot": eq.z_dot} if len(eq.z) else {})
    folded = parameter_values(eq, values or {})
    left = _left(eq, folded)
    given: dict[str, Any] = {"q": eq.q, "u": eq.u, "tau": tau, "t": eq.t}
    given |= ({"z": eq.z} if len(eq.z) else {}) | ({"p": left} if left else {})
    if folded:
        outputs = {name: substitute(part, folded) for name, part in outputs.items()}
    return compile(given, outputs, target=target, name=f"dynamics_{_name(eq)}")


def _has_rows(eq: Equations) -> bool:
    return len(eq.constraints) > 0 and len(eq.u) > 0


def _left(eq: Equations, folded: Mapping[Expr, Any]) -> list[Expr]:
    return [s for s in eq.parameters if s not in folded]


def _name(eq: Equations) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", eq.model.name).strip("_").lower() or "model"


def _template(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _held_c(eq: Equations, made: Function) -> str:
    """The function that eliminates the rows, and its helpers."""
    return Template(_template("held.c")).substitute(
        name=f"forward_{made.name}",
        terms=made.name,
        rows=len(eq.constraints),
        speeds=len(eq.u),
        coordinates=len(eq.q),
        states=max(len(eq.z), 1),
        least=", ".join(map(repr, eq.constraints.least)),
        body=", ".join(map(repr, bodies(eq.kinematics))),
        floor=repr(FLOOR),
        inputs=_inputs(made),
        given=", ".join(port.name for port in made.inputs),
        zdot=", r->zdot" if len(eq.z) else "",
    )


def _inputs(made: Function) -> str:
    return ", ".join(f"const double *{port.name}" for port in made.inputs)


def _declared(eq: Equations, made: Function) -> str:
    """The header, with the second function after the first."""
    labels = comment(", ".join(eq.constraints.labels))
    m, n = len(eq.constraints), len(eq.u)
    first, last, rest = made.header.rpartition("#ifdef __cplusplus\n}")
    return f"""{first}/* Accelerations and reactions of the machine with its constraints; inputs as above.
 * udot: output, {n} double{"s" * (n != 1)}
 * lam: output, {m} double{"s" * (m != 1)}: {labels}
 * Returns 0, or 1 where accelerations are not determined; both are NaN then.
 */
int forward_{made.name}({_inputs(made)}, double *udot, double *lam);

{last}{rest}"""


def _controlled(eq: Equations, made: Function, header: str) -> str:
    """The header with the places that controls of actuators have in tau, as constants with their limits."""
    names, lines = Names(), []
    for place, actuator in enumerate(eq.model.actuators, len(eq.u)):
        limits = ((">=", actuator.lower), ("<=", actuator.upper))
        said = [f"{way} {short(e)}" for way, e in limits if e is not None]
        about = comment(", ".join([actuator.name, *said]))
        more = "," if actuator is not eq.model.actuators[-1] else ""  # none after the last, in C++ of old
        lines.append(f"    {names.fresh(f'{made.name}_control_{actuator.name}')} = {place}{more} /* {about} */")
    listed = "\n".join(lines)
    first, last, rest = header.rpartition("#ifdef __cplusplus\n}")
    return f"""{first}/* Places in tau: forces on the speeds u come first, then the controls of actuators.
 * The functions keep controls within their limits.
 */
enum {{
{listed}
}};

{last}{rest}"""


def python_source(eq: Equations, values: Mapping[Any, Any] | None = None, note: str = "") -> str:
    """Write the equations as a Python module that needs NumPy alone: `dynamics(q, u, tau)` -> terms by name.

    values : of parameters that become constants; the others are inputs p
    note   : stands in its docstring
    """
    made = _compiled(eq, values, "numpy")
    given = [port.name for port in made.inputs]
    shapes = {port.name: port.shape for port in made.outputs}
    solver = ""
    if _has_rows(eq):
        code = _template("held.py").partition("import numpy as np\n")[2].strip()
        solver = (
            f"\n\nLEAST = np.array({eq.constraints.least!r})  # of its size that a row must have of its own\n"
            f"BODY = np.array({bodies(eq.kinematics)!r})  # that each speed moves, by number\n{code}\n"
        )
    return Template(_MODULE).substitute(
        about=_about(eq, made, note).replace("\\", "/").replace("'''", '"'),
        shapes=repr(shapes),
        returned=", ".join([*shapes, *(["udot", "lam"] if solver else [])]),
        named="".join(f", {name}" for name in given[4:]),
        given=", ".join(given),
        function=made.name,
        solved=_SOLVED if solver else "",
        source=made.source.strip(),
        solver=solver,
    )


def _about(eq: Equations, made: Function, note: str) -> str:
    """What the docstring of a module says: the form, and the order of entries."""
    rows = eq.constraints.labels if _has_rows(eq) else ()
    form = "M udot + c = Q + tau + J^T lam, J udot + gamma = 0" if rows else "M udot + c = Q + tau"
    order = {
        p.name: [str(s.value) for s in p.entries]
        for p in made.inputs
        if p.name != "t" and (p.name != "tau" or len(eq.controls))
    }
    order |= {"lam": list(rows)} if rows else {}
    lines = [f"{name} = [{', '.join(entries)}]" for name, entries in order.items()]
    head = [f"Equations of motion of {eq.model.name!r}, {form}, qdot = N u.", *(["", note] if note else [])]
    return "\n".join([*head, "", *lines])


_MODULE = """'''$about
'''

import numpy as np

SHAPES = $shapes


def dynamics(q, u, tau, *$named, t=0.0):
    '''Return $returned by name, for arrays of shape (..., n).'''
    t = np.asarray(t)[..., None]
    given = [np.asarray(a, dtype=float) for a in ($given)]
    lead = np.broadcast_shapes(*(a.shape[:-1] for a in given))
    rows = [np.broadcast_to(a, (*lead, a.shape[-1])).reshape(-1, a.shape[-1]) for a in given]
    out = {name: np.empty((len(rows[0]), int(np.prod(shape)))) for name, shape in SHAPES.items()}
    $function(*rows, *out.values())
    found = {name: out[name].reshape(*lead, *shape) for name, shape in SHAPES.items()}$solved
    return found


$source
$solver"""

_SOLVED = """
    right = found["forces"] + np.asarray(tau)[..., : found["forces"].shape[-1]] - found["bias"]
    found["udot"], found["lam"] = np.empty(right.shape), np.empty(found["gamma"].shape)
    parts = [found["mass_matrix"], right, *(found[name] for name in ("J", "gamma", "reference"))]
    for k in np.ndindex(*lead):
        found["udot"][k], found["lam"][k] = held(*(part[k] for part in parts), LEAST, BODY)"""
