"""Dynamics of machines, as a pipeline of stages:

graph         scalar expressions as one shared graph, with derivatives and matrices
compile       expressions to native code, C99 or NumPy
kernels       loops over native code, compiled once for every model
spatial       poses, twists, wrenches and inertias
model         bodies, joints and forces: what the user said
formats       URDF, SDFormat, MJCF and TOML files
kinematics    poses, twists and Jacobians of the tree
formulations  one file per paper, from kinematics to the terms of the equations
equations     the equations of motion in canonical form, and their compiled calls
view          plots and animations
trajectory    what a run leaves behind: states by name, energies, files, pictures
simulate      from an initial state to a trajectory
interact      machines in real time
analyze       whether all formulations agree on a model; its equilibria and linear models
study         many runs, derivatives of a run, parameters from measurements
cli           the command `polhode`

    import polhode as ph
    model = ph.load("panda.urdf")
    eq = ph.formulate(model)
    dyn = eq.compile()
    dyn.forward_dynamics(q, u, tau)
    ph.simulate(dyn, q0, u0, t_end=10)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_PUBLIC = {
    "graph": "Expr Matrix symbol symbols vector matrix pi sin cos tan asin acos atan atan2 sqrt exp log tanh absolute "
    "sign minimum maximum select evaluate substitute diff jacobian gradient",
    "model": "Beam Builder Model ModelError Joint Limits TIME joint compound revolute prismatic screw cylindrical "
    "universal planar spherical free weld height_grid beam section flexible craig_bampton Frame",
    "formats": "load save load_calculix load_flexible save_flexible",
    "kinematics": "configuration kinematic_matrix joint_map locked",
    "formulations": "suggest_speeds",
    "equations": "formulate Equations Dynamics ConstraintWarning symbolic_inertias",
    "simulate": "simulate simulate_many assemble at when Sampled Simulation SimulationWarning SwitchError Trajectory",
    "interact": "realtime replay",
    "analyze": "check linearize equilibrium reach LinearModel SymbolicModel Equilibrium EquilibriumError",
    "study": "study sample sensitivities fit Experiment",
}
_STAGE_OF = {name: stage for stage, names in _PUBLIC.items() for name in names.split()}

if TYPE_CHECKING:
    from .analyze import Equilibrium, EquilibriumError, LinearModel, SymbolicModel, check, equilibrium, linearize, reach
    from .equations import ConstraintWarning, Dynamics, Equations, formulate, symbolic_inertias
    from .formats import load, load_calculix, load_flexible, save, save_flexible
    from .formulations import suggest_speeds
    from .graph import (
        Expr,
        Matrix,
        absolute,
        acos,
        asin,
        atan,
        atan2,
        cos,
        diff,
        evaluate,
        exp,
        gradient,
        jacobian,
        log,
        matrix,
        maximum,
        minimum,
        pi,
        select,
        sign,
        sin,
        sqrt,
        substitute,
        symbol,
        symbols,
        tan,
        tanh,
        vector,
    )
    from .interact import realtime, replay
    from .kinematics import configuration, joint_map, kinematic_matrix, locked
    from .model import (
        TIME,
        Beam,
        Builder,
        Frame,
        Joint,
        Limits,
        Model,
        ModelError,
        beam,
        compound,
        craig_bampton,
        cylindrical,
        flexible,
        free,
        height_grid,
        joint,
        planar,
        prismatic,
        revolute,
        screw,
        section,
        spherical,
        universal,
        weld,
    )
    from .simulate import (
        Sampled,
        Simulation,
        SimulationWarning,
        Trajectory,
        assemble,
        at,
        simulate,
        simulate_many,
        when,
    )
    from .study import Experiment, fit, sample, sensitivities, study


def __getattr__(name: str) -> Any:
    """Import a stage when one of its names is first used."""
    if name not in _STAGE_OF:
        said = f"module 'polhode' has no attribute {name!r}"
        if name.startswith("_"):
            raise AttributeError(said)
        from .model.errors import closest

        raise AttributeError(f"{said}. {closest(name, __all__)}", name=name, obj=None)
    found = getattr(import_module(f"polhode.{_STAGE_OF[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


__all__ = [
    "TIME",
    "Beam",
    "Builder",
    "ConstraintWarning",
    "Dynamics",
    "Equations",
    "Equilibrium",
    "EquilibriumError",
    "Experiment",
    "Expr",
    "Frame",
    "Joint",
    "Limits",
    "LinearModel",
    "Matrix",
    "Model",
    "ModelError",
    "Sampled",
    "Simulation",
    "SimulationWarning",
    "SymbolicModel",
    "Trajectory",
    "absolute",
    "acos",
    "asin",
    "assemble",
    "at",
    "atan",
    "atan2",
    "beam",
    "check",
    "compound",
    "configuration",
    "cos",
    "craig_bampton",
    "cylindrical",
    "diff",
    "equilibrium",
    "evaluate",
    "exp",
    "fit",
    "flexible",
    "formulate",
    "free",
    "gradient",
    "height_grid",
    "jacobian",
    "joint",
    "joint_map",
    "kinematic_matrix",
    "linearize",
    "load",
    "load_calculix",
    "load_flexible",
    "locked",
    "log",
    "matrix",
    "maximum",
    "minimum",
    "pi",
    "planar",
    "prismatic",
    "reach",
    "realtime",
    "replay",
    "revolute",
    "sample",
    "save",
    "save_flexible",
    "screw",
    "section",
    "select",
    "sensitivities",
    "sign",
    "simulate",
    "simulate_many",
    "sin",
    "spherical",
    "sqrt",
    "study",
    "substitute",
    "suggest_speeds",
    "symbol",
    "symbolic_inertias",
    "symbols",
    "tan",
    "tanh",
    "universal",
    "vector",
    "weld",
    "when",
]
