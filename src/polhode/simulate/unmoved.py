"""Runs in which nothing moves because gravity acts across every joint, as where a plane mechanism was meant to hang."""

from __future__ import annotations

from polhode.trajectory import Trajectory


def unmoved(traj: Trajectory) -> str:
    """Say that nothing acts on a machine that was left alone; "" for nothing to say."""
    if traj.u.any() or traj.tau.any() or traj.z.any() or len(traj) < 2:
        return ""
    eq = traj.dynamics.equations
    model = eq.model
    weightless = all(e == 0 for e in model.gravity)
    led = model.forces or model.constraints or model.candidates or model.actuators or model.switches
    if weightless or led or any(e != 0 for part in (eq.Q, eq.gravity) for e in part):
        return ""
    g = ", ".join(map(str, model.gravity))
    return (
        f"Nothing moved: gravity, ({g}), acts along no joint of {model.name!r}. Give the Builder another gravity, such "
        "as gravity=(0, -9.81, 0), or the joints other axes, or the start a speed."
    )
