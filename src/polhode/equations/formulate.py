"""From a model to its equations, by the method of choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from polhode.formulations import Terms, denoc, kane, lagrange, poincare
from polhode.formulations.kane_embedding import recombined
from polhode.formulations.kane_suggest import suggest_speeds
from polhode.kinematics import Kinematics, derive, generalised
from polhode.model import Model

from .equations import Equations

METHODS = {"poincare": poincare.terms, "lagrange": lagrange.terms, "denoc": denoc.terms, "kane": kane.terms}
WAYS: dict[str, Callable[[Kinematics], Terms]] = {"substitution": kane.terms, "recombination": recombined}


def formulate(
    model: Model,
    method: str | None = None,
    *,
    speeds: Mapping[Any, Any] | str | None = None,
    embed: bool | Iterable[str] = False,
    independent: Sequence[str] | None = None,
    embed_by: str = "substitution",
) -> Equations:
    """Derive the equations of motion of a model.

    method : "poincare" and "denoc", in the speeds of the model's joints,
             "lagrange", in the rates of its coordinates, or "kane", in speeds of
             your choice. None takes "kane" where one of the options below is
             given, "denoc", the fastest, for robots from URDF and MJCF files, and
             "poincare", the most readable, for others.

    By "kane" only:

    speeds      : generalised speeds, {"u1": expression linear in the model's own}, or
                  "suggested"; None for those of the joints
    embed       : names of constraints to embed, or True for all
    independent : names of the speeds that stay; None chooses well-conditioned ones
    embed_by    : "substitution", before partial velocities are formed, or
                  "recombination" of the unconstrained equations
    """
    if not isinstance(model, Model):
        raise TypeError(f"formulate takes a Model, found {model!r:.60}. Build one with Builder or read one with load.")
    chosen = speeds is not None or embed is not False or independent is not None or embed_by != "substitution"
    if method is None:
        method = "kane" if chosen else "denoc" if model.literal else "poincare"
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"Method {method!r} is unknown. Choose one of {', '.join(map(repr, METHODS))}.")
    if method != "kane":
        if chosen:
            raise ValueError(f'speeds=, embed= and independent= are for method="kane", found {method!r}.')
        kin = derive(model, rates=method == "lagrange")
        return Equations(model=model, method=method, terms=METHODS[method](kin))
    if embed_by not in WAYS:
        raise ValueError(f'embed_by={embed_by!r:.60}: expected "substitution" or "recombination".')
    if isinstance(speeds, str):
        if speeds != "suggested":
            raise ValueError(f'speeds={speeds!r:.60}: expected names with expressions, or "suggested".')
        speeds = suggest_speeds(model).speeds
    kin = generalised(derive(model), speeds, embed, independent)
    return Equations(model=model, method=method, terms=WAYS[embed_by](kin))
