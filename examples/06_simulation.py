"""Motion: a closed loop that stays closed, a robot under control, and a page that shows it."""

import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console

import polhode as ph

console = Console(highlight=False)


def four_bar() -> ph.Model:
    build = ph.Builder("four-bar linkage")
    rod = {"mass": 1, "com": (0.5, 0, 0), "inertia": (0, 1 / 12, 1 / 12)}
    build.body("crank", joint=ph.revolute("y", name="a"), **rod)
    build.body("rod", parent="crank", at=(1, 0, 0), joint=ph.revolute("y", name="b"), **rod)
    build.body("rocker", at=(1.2, 0, 0), joint=ph.revolute("y", name="c"), **rod)
    build.marker("tip", body="rod", at=(1, 0, 0))
    build.marker("top", body="rocker", at=(1, 0, 0))
    build.loop("top", "tip", "hinge", axis="y", name="close")
    return build.build()


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="polhode-"))

    # three rods and a hinge that closes the loop; five equations, two of them independent
    dyn = ph.formulate(four_bar()).compile()
    q0, u0 = ph.assemble(dyn, {"a": -1.0, "b": 1.0, "c": -1.0}, {"a_dot": 3.0}, keep=["a", "a_dot"])
    console.print("[dim]the first run compiles its integrator, once[/dim]")
    traj = ph.simulate(dyn, q0, u0, t_end=20.0, reacting=True)
    console.print(str(traj), markup=False, soft_wrap=True)
    console.print(f"The loop is open by {abs(traj.residuals).max():.0e} m at most; ", end="")
    console.print(f"the pin carries up to {np.linalg.norm(traj.reactions[:, :3], axis=1).max():.0f} N.")
    console.print(str(traj.audit()), markup=False, soft_wrap=True)
    traj.animate(folder / "four_bar.html")

    # a robot that is held by a controller at 200 Hz, and then let go
    model = ph.load(Path(__file__).with_name("ur5.urdf"))
    arm = ph.formulate(model).compile()
    goal = np.array([0.5, -1.2, 1.5, -0.3, 0.4, 0.0])

    def control(t, q, u):
        return arm.bias(q, u) + arm.mass_matrix(q) @ (40 * (goal - q) - 12 * u) if t < 2 else np.zeros(6)

    traj = ph.simulate(arm, np.zeros(6), t_end=3.0, tau=ph.Sampled(control, period=0.005))
    off = abs(traj.at(2.0)[0] - goal).max()
    console.print(str(traj), markup=False, soft_wrap=True)
    console.print(f"After 2 s the arm is within {off:.1e} rad of its goal.")
    traj.animate(folder / "ur5.html")
    console.print(f"[bold]Open {folder / 'four_bar.html'} and {folder / 'ur5.html'} in a browser.[/bold]")


if __name__ == "__main__":
    main()
