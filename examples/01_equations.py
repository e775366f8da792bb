"""From geometry to equations that a person can read, and a function that a machine runs fast.

The masses of a double pendulum sit at the ends of two rods. Lagrange's
equations follow from their positions; symbols stay symbols all the way.
"""

import sympy
from double_pendulum import M, c, parameters, q, u, udot
from rich.console import Console

from polhode.compile import compile
from polhode.graph import latex, substitute, symbol, to_sympy

console = Console(highlight=False)


def show(title: str, text: object) -> None:
    console.print(title, style="bold cyan", markup=False)
    console.print(str(text), markup=False, soft_wrap=True)
    console.print()


def main() -> None:
    console.rule("Double pendulum: M(q) udot + c(q, u) = 0")
    show("M", M)
    show("c, as SymPy simplifies it", sympy.pretty(sympy.simplify(to_sympy(c)), use_unicode=True))
    show("M[0, 1] in LaTeX", latex(M[0, 1]))

    m = symbol("m")
    equal = {parameters[0]: m, parameters[1]: m}
    show("M for equal masses", substitute(M, equal))

    f = compile({"q": q, "u": u, "p": parameters}, {"udot": udot}, name="accelerations")
    show("Compiled to native code", f)
    show("Called with q = (0.3, 0.1), u = 0", f([0.3, 0.1], [0.0, 0.0], [1.0, 1.0, 1.0, 1.0, 9.81]))


if __name__ == "__main__":
    main()
