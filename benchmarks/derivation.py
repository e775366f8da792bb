"""Derivation time: Polhode against SymPy's KanesMethod on the same arms with symbolic parameters.

The arm has n revolute joints, about z and y in turn; each link has mass m_i, its
centre of mass at l_i, length L_i and principal inertias. Both derive the
inertia matrix and everything else of M udot + c = 0 in the joint rates.
"""

from __future__ import annotations

import multiprocessing as mp
import statistics
import time
from typing import Any

AXES = "zy"


def polhode_arm(n: int) -> Any:
    """The arm as a model."""
    import polhode as ph

    build = ph.Builder(f"arm {n}", gravity=(0, 0, -ph.symbol("g")))
    for i in range(1, n + 1):
        m, l, xx, yy, zz = ph.symbols(f"m{i} l{i} Ixx{i} Iyy{i} Izz{i}")
        build.body(
            f"link{i}",
            parent=f"link{i - 1}" if i > 1 else "world",
            at=(0, 0, ph.symbol(f"L{i - 1}")) if i > 1 else (0, 0, 0),
            joint=ph.revolute(AXES[(i - 1) % 2], name=f"q{i}", u=[f"u{i}"]),
            mass=m,
            com=(0, 0, l),
            inertia=(xx, yy, zz),
        )
    return build.build()


def derive(n: int, method: str) -> tuple[float, int]:
    """Seconds to derive the arm's equations, and their operations. The model is built inside."""
    import polhode as ph

    start = time.perf_counter()
    eq = ph.formulate(polhode_arm(n), method=method)
    _ = eq.M, eq.c, eq.Q, eq.N  # made when asked for
    return time.perf_counter() - start, sum(eq.op_counts().values())


def kane(n: int) -> tuple[float, int]:
    """Seconds that SymPy takes for the same arm, and its operations as trees."""
    from sympy import count_ops, symbols
    from sympy.physics.mechanics import KanesMethod, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia

    start = time.perf_counter()
    q, u = dynamicsymbols(f"q1:{n + 1}"), dynamicsymbols(f"u1:{n + 1}")
    g = symbols("g")
    world, origin = ReferenceFrame("N"), Point("O")
    origin.set_vel(world, 0)
    frame, point, bodies, loads = world, origin, [], []
    for i in range(n):
        m, l, L, xx, yy, zz = symbols(f"m{i + 1} l{i + 1} L{i + 1} Ixx{i + 1} Iyy{i + 1} Izz{i + 1}")
        axis = getattr(frame, AXES[i % 2])
        link = frame.orientnew(f"B{i + 1}", "Axis", [q[i], axis])
        link.set_ang_vel(frame, u[i] * axis)
        center = point.locatenew(f"C{i + 1}", l * link.z)
        center.v2pt_theory(point, world, link)
        bodies.append(RigidBody(f"link{i + 1}", center, link, m, (inertia(link, xx, yy, zz), center)))
        loads.append((center, -m * g * world.z))
        end = point.locatenew(f"E{i + 1}", L * link.z)
        end.v2pt_theory(point, world, link)
        frame, point = link, end
    rates = [speed - coordinate.diff() for speed, coordinate in zip(u, q, strict=True)]
    method = KanesMethod(world, q_ind=q, u_ind=u, kd_eqs=rates)
    method.kanes_equations(bodies, loads)
    M, forcing = method.mass_matrix, method.forcing
    seconds = time.perf_counter() - start
    return seconds, int(count_ops(M) + count_ops(forcing))


def _sent(pipe: Any, n: int) -> None:
    pipe.send(kane(n))


def kane_within(n: int, limit: float) -> tuple[float, int] | None:
    """`kane` in a process of its own; None where it takes longer."""
    context = mp.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_sent, args=(there, n), daemon=True)
    process.start()
    found = here.recv() if here.poll(limit) else None
    process.kill()
    return found


def table(console: Any, limit: float) -> None:
    """Print the comparison as far as SymPy gets within the limit, and Polhode on to 60."""
    from rich.table import Table

    derive(3, "poincare"), derive(3, "lagrange")  # imports
    shown = Table(title="Derivation of a 3-D arm with symbolic parameters", title_justify="left")
    for column in (
        "joints",
        "Poincare",
        "operations",
        "Lagrange",
        "operations",
        "SymPy KanesMethod",
        "as trees",
        "ratio",
    ):
        shown.add_column(column, justify="right")
    sympy_within = True
    for n in (3, 4, 5, 6, 7, 10, 15, 30, 60):
        runs = {m: [derive(n, m) for _ in range(5 if n < 30 else 3)] for m in ("poincare", "lagrange")}
        cells = []
        for found in runs.values():
            seconds = statistics.median(t for t, _ in found)
            cells += [f"{seconds * 1e3:,.1f} ms", f"{found[0][1]:,}"]
        tried = sympy_within and n <= 30
        other = kane_within(n, limit) if tried else None
        sympy_within = other is not None
        mine = statistics.median(t for t, _ in runs["poincare"])
        ratio = f"x {other[0] / mine:,.0f}" if other else ""
        theirs = (f"{other[0]:,.1f} s", f"{other[1]:,}") if other else (f"> {limit:,.0f} s" if tried else "", "")
        shown.add_row(str(n), *cells, *theirs, ratio)
    console.print(shown)
