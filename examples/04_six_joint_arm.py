"""The six-joint arm of Kwatny and Blankenship: shoulder, elbow and wrist, two ways.

With the wrist as three rates in sequence the inertia matrix is long; with the
wrist's angular velocity as its speeds it is short, and the motion is the same.
"""

from rich.console import Console
from rich.table import Table

import polhode as ph
from polhode.graph import op_counts, tree_size

console = Console(highlight=False)
SHOULDER = [[0, 0], [1, 0], [0, 1], [0, 0], [0, 0], [0, 0]]
WRIST = [[0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]


def arm(wrist: ph.Joint) -> ph.Model:
    build = ph.Builder("six-joint arm", gravity=(0, 0, -9.81))
    m, L = 1, 3  # slender bars
    bar = {"mass": m, "com": (0, 0, L / 2), "inertia": (m * L**2 / 12, m * L**2 / 12, 0)}
    build.body("upper arm", joint=ph.joint(SHOULDER, split=[1, 1], name="shoulder", q=["s1", "s2"]), **bar)
    build.body("lower arm", parent="upper arm", at=(0, 0, L), joint=ph.revolute("y", q=["e"]), **bar)
    m, L, R = 0.5, 0.7, 0.35  # a cylinder; the axial moment is the paper's
    across = m * (L**2 + 3 * R**2) / 12
    build.body(
        "gripper", parent="lower arm", at=(0, 0, 3), joint=wrist, mass=m, com=(0, 0, L / 2),
        inertia=(across, across, m * R**2 / 12),
    )  # fmt: skip
    build.marker("fingertip", body="gripper", at=(0, 0, L))
    return build.build()


def main() -> None:
    names = {"name": "wrist", "q": ["t1", "t2", "t3"]}
    forms = {
        "three rates": ph.joint(WRIST, split=[1, 1, 1], **names),
        "angular velocity": ph.joint(WRIST, u=["v1", "v2", "v3"], **names),
    }
    console.print(str(arm(forms["angular velocity"])), markup=False)
    table = Table(title="Length of the equations", title_justify="left")
    for column in ("wrist speeds", "M written out", "M shared", "c written out", "c shared"):
        table.add_column(column, justify="left" if column == "wrist speeds" else "right")
    for title, wrist in forms.items():
        eq = ph.formulate(arm(wrist))
        sizes = [(tree_size(e), sum(op_counts(e).values())) for e in (eq.M, eq.c)]
        table.add_row(title, *(f"{n:,}" for pair in sizes for n in pair))
    console.print(table)
    last = eq.M[5]
    console.print("Last row of M with the simple wrist", style="bold cyan")
    console.print(str(last), markup=False, soft_wrap=True)
    console.print("Height of the fingertip", style="bold cyan")
    console.print(str(eq.pose("fingertip")[2, 3]), markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
