"""From a model to its equations, by the method of choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from polhode.formulations import Terms, book, denoc, kane, lagrange, poincare, quasicoordinate
from polhode.formulations.kane import recombined, suggest_speeds
from polhode.formulations.projection import projected
from polhode.formulations.quasicoordinate import find_limbs
from polhode.graph import free_symbols
from polhode.kinematics import Motion, derive, generalised
from polhode.model import Builder, Model
from polhode.model.errors import closest
from polhode.model.spelling import spelled

from .equations import Equations

IN_JOINTS: dict[str, Callable[..., Terms]] = {  # of the joints' speeds
    "poincare": poincare.terms,
    "lagrange": lagrange.terms,
    "denoc": denoc.terms,
    "quasicoordinate": quasicoordinate.terms,
    "book": book.terms,
}
METHODS = (*IN_JOINTS, "kane")
READABLE = 3  # moving bodies; equations of more, in numbers, are not for reading
WAYS: dict[str, Callable[[Motion], Terms]] = {"substitution": kane.terms, "recombination": recombined}


@spelled("formulate")
def formulate(
    model: Model,
    method: str | None = None,
    *,
    speeds: Mapping[Any, Any] | str | None = None,
    embed: bool | Iterable[str] | None = None,
    independent: Sequence[str] | None = None,
    embed_by: str = "substitution",
    limbs: Mapping[str, Any] | None = None,
) -> Equations:
    """Derive the equations of motion of a model.

    method : "poincare", "denoc", "lagrange", "quasicoordinate", "book" or "kane". None takes "kane"
             where one of the options below is given; "denoc", the fastest, for more than
             three moving bodies, or such as deform, that are all numbers; and "poincare", the most readable,
             for others. "lagrange" starts from the rates of the coordinates, the others from
             the speeds of the joints.

    speeds      : generalised speeds, {"u1": expression linear in the model's own}, or
                  "suggested"; None for those that the method starts from
    embed       : names of constraints to embed, True for all, False for none. None is what the method does by
                  itself: "quasicoordinate" embeds the transmissions of motors, others nothing
    independent : names of the speeds that stay; None chooses well-conditioned ones
    embed_by    : by "kane" only: "substitution", before partial velocities are formed, or
                  "recombination" of the unconstrained equations
    limbs       : by "quasicoordinate" only: names of limbs, with the last body of each; None finds them

    "kane" puts the speeds in the velocities, and is the shortest to read; the others are
    projected: M' = G^T M G with v = G u + g.
    """
    if isinstance(model, Builder):
        raise TypeError(f"formulate takes a Model, found the builder {model.name!r:.60}. Give build.build().")
    if not isinstance(model, Model):
        raise TypeError(f"formulate takes a Model, found {model!r:.60}. Build one with Builder or read one with load.")
    if method is None and limbs is not None:
        method = "quasicoordinate"
    chosen = speeds is not None or embed not in (None, False) or independent is not None or embed_by != "substitution"
    if method is None:
        method = "kane" if chosen else _suited(model)
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"There is no method {method!r:.60}. {closest(method, METHODS)}")
    if embed_by not in WAYS:
        raise ValueError(f'embed_by={embed_by!r:.60}: expected "substitution" or "recombination".')
    if embed_by != "substitution" and method != "kane":
        raise ValueError(f'embed_by= is for method="kane", found {method!r}: other methods project.')
    if limbs is not None and method != "quasicoordinate":
        raise ValueError(f'limbs= is for method="quasicoordinate", found {method!r}, which knows none.')
    if isinstance(speeds, str):
        if speeds != "suggested":
            raise ValueError(f'speeds={speeds!r:.60}: expected names with expressions, or "suggested".')
        speeds = suggest_speeds(model).speeds
    for name in map(str, speeds) if isinstance(speeds, Mapping) else ():
        if any(name == actuator.name for actuator in model.actuators):
            raise ValueError(f"Speed {name!r}: that name belongs to an actuator. Choose another.")
    if embed is None:
        trains = method == "quasicoordinate" and speeds is None and independent is None
        embed, independent = driven(model) if trains else (False, independent)
    _require_orders(model, method)
    joints = derive(model, rates=method == "lagrange")
    kin = generalised(joints, speeds, embed, independent)
    if method == "kane":
        terms = WAYS[embed_by](kin)
    else:
        own = {} if limbs is None else {"limbs": find_limbs(joints, limbs)}
        terms = projected(IN_JOINTS[method](joints, **own), kin)
    return Equations(model=model, method=method, terms=terms)


def _require_orders(model: Model, method: str) -> None:
    """Refuse bodies that deform in a way that a method has not."""
    for body in model.bodies:
        if body.flexible is None:
            continue
        if body.flexible.order == "paper" and method != "book":
            raise ValueError(
                f'Body {body.name!r}: its order is "paper", which drops terms of Book\'s equations and belongs to no '
                f'energy, so only method="book" has it; found {method!r}. Use order="first", or "full".'
            )
        if body.flexible.rotation == "linear" and method not in ("book", "lagrange"):
            raise ValueError(
                f'Body {body.name!r}: its sections turn by rotation="linear", which stretches what stands on them; '
                f'only "book" and "lagrange" have that, found {method!r}. Use rotation="proper".'
            )
        if body.flexible.rotation == "linear" and not body.flexible.root.still:
            raise ValueError(
                f'Body {body.name!r}: rotation="linear" needs shapes that are 0 with their slopes at the joint, found '
                'some that move there. Use clamped shapes, or rotation="proper".'
            )
        placed = [part for part in (*model.forces, *model.constraints) if part.uses("marker")]
        if body.flexible.rotation == "linear" and placed:
            raise ValueError(
                f'Body {body.name!r}: rotation="linear" is that of inertia and gravity alone, as in the paper, and '
                f"{placed[0].what} acts at markers, whose places it would not have. Use rotation="
                '"proper", or leave it out.'
            )


def driven(model: Model) -> tuple[list[str] | bool, list[str] | None]:
    """The transmissions of motors that always hold, and the speeds that stay where they are embedded: those of rotors.

    A model without its constraints, as the parts of an automaton and `derive --bare` have it, has no transmissions.

    Reference: [NelsonQuinn, eq. 40, 48].
    """
    known = {c.name for c in model.constraints}
    rows = [row for motor in model.motors for row in motor.determined().items() if row[0] in known]
    names, turned = [name for name, _ in rows], {speed for _, speed in rows}
    if not names or len(turned) < len(names):  # a joint that two motors turn: chosen by its numbers
        return names or False, None
    return names, [u for u in model.speeds if u not in turned]


def _suited(model: Model) -> str:
    """The method that suits a model: by recursion where there is little to read."""
    bent = [body.flexible for body in model.bodies if body.flexible is not None]
    if any(flexible.order == "paper" or flexible.rotation == "linear" for flexible in bent):
        return "book"
    moving = sum(body.joint.nu > 0 for body in model.bodies)
    symbolic = any(free_symbols(body.quantities()) for body in model.bodies)
    return "poincare" if symbolic or (moving <= READABLE and not bent) else "denoc"
