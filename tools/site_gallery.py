"""The gallery: machines of the examples that move, each in a page of its own that plays it."""

from __future__ import annotations

import html
from pathlib import Path

import polhode as ph


def gallery_page(root: Path, out: Path) -> str:
    """Make the players, and the page that shows them."""
    out.mkdir(parents=True, exist_ok=True)
    arm = ph.formulate(ph.load(root / "examples" / "ur5.urdf", limits="ignore")).compile()
    cart = ph.formulate(ph.load(root / "examples" / "cart.toml")).compile()
    runs = {
        "ur5": ("A robot that nobody holds", ph.simulate(arm, {"shoulder_lift": -1.2, "elbow": 1.5}, t_end=5.0)),
        "cart": (
            "A shopping cart whose caster sticks after two seconds",
            ph.simulate(cart, **_pushed(cart), t_end=5.0, switches=ph.at(2.0, engage="stuck caster")),
        ),
        "double-pendulum": ("A double pendulum", ph.simulate(_double_pendulum(), {"a": 2.0, "b": 1.0}, t_end=10.0)),
        "flexible": ("A strip of steel with a weight, let go", ph.simulate(_strip(), {"strip_y1": 0.08}, t_end=4.0)),
    }
    shown = []
    for name, (what, run) in runs.items():
        run.animate(str(out / f"{name}.html"))
        shown.append(
            f'<figure><iframe src="{name}.html" title="{html.escape(what)}" loading="lazy"></iframe>'
            f'<figcaption><a href="{name}.html">{html.escape(what)}</a></figcaption></figure>'
        )
    return (
        '<h1>Gallery</h1>\n<p>Each of these is one file, made by <code>traj.animate("motion.html")</code>.</p>\n'
        + "\n".join(shown)
    )


def _pushed(cart: ph.Dynamics) -> dict[str, object]:
    """The cart rolls, and turns as it goes."""
    found = ph.assemble(cart, {"q4": 0.3}, {"u1": 1.5}, keep=["q4", "u1"])
    return {"q0": found.q, "u0": found.u}


def _double_pendulum() -> ph.Dynamics:
    build = ph.Builder("double pendulum")
    build.body("upper", joint=ph.revolute("y", name="a"), mass=1, com=(0, 0, -0.5), inertia=(0.08, 0.08, 0))
    build.body(
        "lower",
        parent="upper",
        at=(0, 0, -1),
        joint=ph.revolute("y", name="b"),
        mass=1,
        com=(0, 0, -0.5),
        inertia=(0.08, 0.08, 0),
    )
    return ph.formulate(build.build()).compile()


def _strip() -> ph.Dynamics:
    build = ph.Builder("strip")
    steel = ph.beam(length=0.8, mu=0.4, EI_z=6.0, modes=2, damping=0.005)
    build.body("strip", joint=ph.weld(), flexible=steel)
    build.body("weight", parent="strip", at=(0.8, 0, 0), joint=ph.weld(), mass=0.2)
    return ph.formulate(build.build()).compile()
