"""The gallery: machines of the examples that move, each in a page of its own that plays it."""

from __future__ import annotations

import html
import math
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
        "platform": ("A Stewart platform that follows its six legs", _platform()),
        "cart-pole": ("A pole that is balanced", _balanced()),
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


def _balanced() -> ph.Trajectory:
    """The cart-pole of docs/linearize.md, a little off, with its law."""
    build = ph.Builder("cart-pole")
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=2.0)
    build.body("pole", parent="cart", joint=ph.revolute("y", name="theta"), mass=0.3, com=(0, 0, 0.6))
    build.shape("cart", points=[(-0.2, -0.1, -0.12), (0.2, 0.1, 0)], name="cart")
    law = {"x_dot": "3*x + 80*theta + 6*x_dot + 18*theta_dot"}
    return ph.simulate(ph.formulate(build.build()).compile(), {"x": -0.5, "theta": 0.4}, t_end=8.0, tau=law)


def _platform() -> ph.Trajectory:
    """Six legs on universal joints carry a plate; each is as long as its law says, within a few millimetres."""
    build = ph.Builder("Stewart platform")
    build.body("plate", joint=ph.free(), mass=5, inertia=(0.1, 0.1, 0.2))
    build.shape("plate", "cylinder", points=[(0, 0, 0), (0, 0, 0.02)], width=0.62, name="plate")
    cylinder = {"mass": 1, "com": (0, 0, 0.2), "inertia": (0.01, 0.01, 0.001)}
    rod = {"mass": 0.5, "com": (0, 0, -0.1), "inertia": (0.005, 0.005, 0.0005)}
    for i in range(6):
        side = 1 - 2 * (i % 2)
        below, above = (math.radians(120 * (i // 2) + turn * side) for turn in (12, 48))
        foot = (0.5 * math.cos(below), 0.5 * math.sin(below), 0)
        build.body(f"cylinder {i}", at=foot, joint=ph.universal(("x", "y"), name=f"foot{i}"), **cylinder)
        build.body(f"rod {i}", parent=f"cylinder {i}", joint=ph.prismatic("z", name=f"l{i}"), **rod)
        build.marker(f"ball {i}", body="plate", at=(0.3 * math.cos(above), 0.3 * math.sin(above), 0))
        build.shape(f"cylinder {i}", "cylinder", points=[(0, 0, 0), (0, 0, 0.42)], width=0.05, role="body")
        build.shape(f"rod {i}", "cylinder", points=[(0, 0, -0.4), (0, 0, 0)], width=0.03, role="joint")
        build.loop(f"rod {i}", f"ball {i}", "point")
    machine = ph.formulate(build.build()).compile()
    pose = ["plate_x", "plate_y", "plate_z", "plate_ax", "plate_ay", "plate_az"]
    start = ph.assemble(machine, {"plate_z": 0.6} | {f"l{i}": 0.65 for i in range(6)}, keep=pose)
    law = {f"l{i}_dot": f"15 + 4000*(0.676 + 0.06*sin(2*t)*sin(t + {i}*pi/3) - l{i}) - 300*l{i}_dot" for i in range(6)}
    return ph.simulate(machine, start, t_end=6.3, tau=law)
