"""The motion of a machine with constraints as expressions alone, for code that has no solver."""

from __future__ import annotations

from polhode.compile import Function
from polhode.graph import Expr, as_expr

from .code import Code


class Closed:
    """Constraints that always hold, by one elimination of speeds and rows in an order that is fixed.

    flow        : dx of x = [q, u, z, w] with M udot = b + J^T lam, J udot + gamma = 0; works are left at 0
    factors     : the elimination K; before it what each row has left of its own, of what it had: next to 0 where rows
                  become dependent; 1 of those that repeat others everywhere
    residuals   : the call (t, x, K, p) -> phi, psi, the squares of their sizes, and the motions that remove them
    independent : rows that do not repeat others

    Raises ValueError where there is no such order: see `possible`.
    """

    def __init__(self, code: Code) -> None:
        rows, eq, residuals = code._rows, code.equations, code.residuals
        if not possible(code) or rows is None or rows.order is None or residuals is None:
            raise ValueError(f"Model {eq.model.name!r}: its rows cannot be eliminated in one order for all states.")
        n, nq, m = len(eq.u), len(eq.q), len(code.constraints)
        carried = rows.rows[: len(code._motion.carried)]
        # at the end of the rows: what is left, what was had, reactions, accelerations, K
        tail = rows.rows[len(rows.rows) - rows.whole_size - n - 3 * m :]
        left, had, udot, K = tail[:m], tail[m : 2 * m], tail[3 * m : 3 * m + n], tail[3 * m + n :]
        found = [*carried[:nq], *udot, *carried[nq:]]
        self.independent = rows.order.independent
        self.flow: list[Expr] = found + [as_expr(0)] * (len(code.x) - len(found))
        own = [a / b if on else as_expr(1) for a, b, on in zip(left, had, self.independent, strict=True)]
        self.factors: list[Expr] = [*own, *K]
        self.residuals: Function = residuals


def possible(code: Code) -> bool:
    """Whether the constraints of a machine have such an order, and nothing among them comes and goes."""
    if len(code.candidates) or not len(code.constraints) or code.base is not code.equations.kinematics:
        return False
    return code._rows is not None and code._rows.order is not None
