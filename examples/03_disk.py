"""A thin disk, free to turn: Euler's equations, and what Lagrange's make of the same disk.

The joint is its joint map, three angular axes of the body. As a simple joint
its speeds are the body's angular velocity; as a compound joint they are the
rates of three angles. (Kwatny and Blankenship, section III, equations 54, 55.)
"""

import sympy
from rich.console import Console

import polhode as ph

console = Console(highlight=False)
AXES = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]]


def disk(joint: ph.Joint) -> ph.Model:
    m, r = ph.symbols("m r")
    build = ph.Builder("disk", gravity=(0, 0, 0))
    build.body("disk", joint=joint, mass=m, inertia=(m * r**2 / 4, m * r**2 / 4, m * r**2 / 2))
    return build.build()


def show(title: str, joint: ph.Joint) -> ph.Equations:
    eq = ph.formulate(disk(joint))
    view = eq.to_sympy(simplify=True)
    console.rule(title)
    for name, what in (("N", "qdot = N u"), ("M", "inertia matrix")):
        console.print(f"{name}, {what}", style="bold cyan", markup=False)
        console.print(sympy.pretty(getattr(view, name), wrap_line=False), markup=False, soft_wrap=True)
    console.print("c, velocity terms", style="bold cyan")
    for u, c in zip(eq.u, view.c, strict=True):
        console.print(f"  {u}: {c}", markup=False, soft_wrap=True)
    console.print()
    return eq


def main() -> None:
    names = {"q": ["t1", "t2", "t3"]}
    euler = show("Simple joint: Euler's equations", ph.joint(AXES, u=["w1", "w2", "w3"], **names))
    show("Compound joint: Lagrange's equations", ph.joint(AXES, split=[1, 1, 1], u=["u1", "u2", "u3"], **names))
    console.print("Euler's equations in LaTeX", style="bold cyan")
    console.print(euler.latex(simplify=True), markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
