"""Joints: values made from joint map matrices.

A joint is a list of simple parts, numbered from the body inward as in the
paper. Each part has a constant joint map H: across it the body gains the twist
H beta, in the axes of the body. Reference: [KwatnyBlankenship, section II].
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from polhode.graph import Expr, Matrix, as_matrix, const, matrix

from . import values
from .algebra import generated, leaving, rank, sampled, structure
from .errors import fault


@dataclass(frozen=True, slots=True)
class Part:
    """A simple joint: H is constant, and its columns span what moves.

    H          : (6, r), the joint map
    basis      : (6, s), H and the brackets it generates; s > r where the part
                 is nonholonomic
    quaternion : turn by a unit quaternion instead of s coordinates in sequence
    """

    H: Matrix
    basis: Matrix
    quaternion: bool = False

    @property
    def nu(self) -> int:
        return self.H.shape[1]

    @property
    def nq(self) -> int:
        return self.basis.shape[1] + self.quaternion

    @property
    def structure(self) -> tuple[Matrix, ...]:
        """Structure constants of the basis, [h_j, h_k] = sum_l c_j[l, k] h_l."""
        return structure(self.basis)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a joint can do; None is no limit."""

    lower: float | None = None
    upper: float | None = None
    speed: float | None = None
    effort: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """A joint between two bodies.

    kind      : what to call it in print
    parts     : simple joints, from the body inward
    name      : "" takes the body's name
    q, u      : names of coordinates and speeds; None makes them from the name
    damping, friction, armature : per speed
    stiffness, rest             : per coordinate
    limits    : per coordinate, or none at all
    friction_speed : below it friction is smoothed, -f tanh(u / friction_speed); 0 for a brake that holds and slips
    passive   : whether damping, friction and stiffness act, or are only kept
    """

    kind: str
    parts: tuple[Part, ...]
    name: str = ""
    q: tuple[str, ...] | None = None
    u: tuple[str, ...] | None = None
    q_endings: tuple[str, ...] = ()
    u_endings: tuple[str, ...] = ()
    damping: tuple[Expr, ...] = ()
    friction: tuple[Expr, ...] = ()
    friction_speed: Expr = field(default_factory=lambda: const(0))
    armature: tuple[Expr, ...] = ()
    stiffness: tuple[Expr, ...] = ()
    rest: tuple[Expr, ...] = ()
    limits: tuple[Limits, ...] = ()
    passive: bool = True

    @property
    def nq(self) -> int:
        return sum(part.nq for part in self.parts)

    @property
    def nu(self) -> int:
        return sum(part.nu for part in self.parts)

    @property
    def quantities(self) -> list[Expr]:
        """Every expression of the joint."""
        maps = [e for part in self.parts for e in part.H.entries]
        return [*maps, *self.damping, *self.friction, self.friction_speed, *self.armature, *self.stiffness, *self.rest]

    def __repr__(self) -> str:
        return f"Joint({self.kind!r}, name={self.name!r}, nq={self.nq}, nu={self.nu})"

    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return self._named(self.q, self.nq, self.q_endings, "")

    def neutral(self) -> tuple[float, ...]:
        """Coordinates at rest: zeros, and a quaternion that does not turn."""
        return tuple(float(n == 0 and part.quaternion) for part in self.parts for n in range(part.nq))

    def speeds(self) -> tuple[str, ...]:
        """Names of the speeds; `_dot` where they are the rates of the coordinates."""
        if self.u is None and all(part.nu == part.nq == 1 for part in self.parts):
            return tuple(f"{name}_dot" for name in self.coordinates())
        return self._named(self.u, self.nu, self.u_endings, "u")

    def _named(self, given: tuple[str, ...] | None, n: int, endings: tuple[str, ...], prefix: str) -> tuple[str, ...]:
        if given is not None:
            return given
        if n == 1 and not endings:
            return (self.name,)
        found = endings if len(endings) == n else [f"{prefix}{i + 1}" for i in range(n)]
        return tuple(f"{self.name}_{ending}" for ending in found)

    def split(self, taken: Collection[str] = ()) -> Joint:
        """The same motion as a sequence of single columns: speeds are then the rates of the coordinates.

        Speeds that are rates already keep their names; new names avoid those `taken`.
        Reference: [KwatnyBlankenship, remark after eq. 26].
        """
        parts, speeds = [], []
        names, given = iter(self.coordinates()), iter(self.speeds())
        for part in self.parts:
            if part.quaternion or part.nq != part.nu:
                angles = "angles: quaternion=False, or load(..., floating='angles')"
                remedy = angles if part.quaternion else 'method="poincare": the joint is nonholonomic'
                raise fault(
                    f"Joint {self.name!r} ({self.kind}) has {self.nq} coordinates and {self.nu} speeds: "
                    f"these cannot be the rates of those, as Lagrange's equations need. Use {remedy}."
                )
            for j in range(part.nu):
                column = _column(part.H, j)
                parts.append(Part(column, column))
                name, speed = next(names), next(given)
                rates = (f"{name}{ending}" for ending in ("_dot", "_rate", *(f"_rate{k}" for k in range(2, 99))))
                speeds.append(speed if part.nu == 1 else next(rate for rate in rates if rate not in taken))
        return replace(self, parts=tuple(parts), q=self.coordinates(), u=tuple(speeds))


def _column(H: Matrix, j: int) -> Matrix:
    return matrix([[e] for e in H[:, j]])


def joint(
    H: Any,
    split: Sequence[int] | None = None,
    quaternion: bool = False,
    nonholonomic: bool = False,
    kind: str = "",
    **options: Any,
) -> Joint:
    """Make a joint from its joint map matrix H, 6 x r, numbers or expressions.

    split        : None for a simple joint, whose speeds are along fixed axes of
                   the body; [1, 2] for a compound one, with the first column
                   next to the body, then two together
    quaternion   : a unit quaternion for what turns in every direction
    nonholonomic : allow columns that do not close under the Lie bracket; the
                   joint then has more coordinates than speeds

    Options of every joint: name, q and u (names of coordinates and speeds),
    damping, friction (dry; smoothed below a friction_speed where one is given), armature, stiffness, rest, limits,
    passive.

    >>> joint([[0], [0], [1], [0], [0], [0.1]], kind="screw").nq
    1
    """
    what = f"Joint {options['name']!r}" if options.get("name") else f"Joint ({kind or 'joint map'})"
    try:
        H = as_matrix(H)
    except (TypeError, ValueError):
        raise fault(f"{what}: joint map is {H!r:.60}, expected six rows.") from None
    H = matrix([[e] for e in H]) if len(H.shape) == 1 else H
    if H.shape[0] != 6 or H.shape[1] < 1:
        raise fault(f"{what}: joint map has shape {H.shape}, expected (6, r) with r at least 1: angular rows first.")
    H = Matrix(H.shape, [values.scalar(e, f"{what}: joint map entry") for e in H.entries])
    sizes: list[Any] = [H.shape[1]] if split is None else list(split) if isinstance(split, (list, tuple)) else [split]
    whole = all(isinstance(size, int) and size > 0 for size in sizes)
    if not whole or sum(sizes) != H.shape[1]:
        raise fault(f"{what}: split={sizes} does not divide the {H.shape[1]} columns of the joint map.")
    parts, first = [], 0
    for size in sizes:
        parts.append(
            _part(H[:, first : first + size], quaternion and (size > 1 or len(sizes) == 1), nonholonomic, what)
        )
        first += size
    return finished(Joint(kind=kind or "joint map", parts=tuple(parts)), what, options)


def _part(H: Matrix, quaternion: bool, nonholonomic: bool, what: str) -> Part:
    r = H.shape[1]
    if not all(map(math.isfinite, sampled(H).flat)):
        raise fault(f"{what}: the joint map is not finite for general values of its symbols.")
    if (found := rank(H)) < r:
        raise fault(
            f"{what}: the {r} columns of the joint map have rank {found}, expected independent columns. "
            "Leave out those that repeat a motion."
        )
    outside = leaving(H)
    if outside is not None and not nonholonomic:
        i, j, bracket = outside
        raise fault(
            f"{what}: columns {i + 1} and {j + 1} of the joint map do not close under the Lie bracket: "
            f"[h{i + 1}, h{j + 1}] = {bracket.vector()} leaves their span, so no {r} coordinates describe this joint. "
            f"Give split={[1] * r} for the compound joint with these axes, "
            "or nonholonomic=True to keep these speeds with more coordinates."
        )
    basis = generated(H)
    if quaternion:
        _require_turning(basis, what)
    return Part(H, basis, quaternion)


def _require_turning(basis: Matrix, what: str) -> None:
    s = basis.shape[1]
    turns_only = s == 3 and not abs(sampled(basis)[3:]).any()
    if not turns_only and s != 6:
        raise fault(
            f"{what}: quaternion=True, but the joint does not turn in every direction about its origin. "
            "Leave it out, or give a spherical or free joint map."
        )


def finished(made: Joint, what: str, options: dict[str, Any]) -> Joint:
    """Check the options that every joint has, and put them in."""
    known = {
        "name",
        "q",
        "u",
        "damping",
        "friction",
        "friction_speed",
        "armature",
        "stiffness",
        "rest",
        "limits",
        "passive",
    }
    endings = {"q_endings", "u_endings"}
    if unknown := sorted(set(options) - known - endings):
        raise fault(f"{what}: unknown option {unknown[0]!r}. Joints take {', '.join(sorted(known))}.")
    found: dict[str, Any] = {k: v for k, v in options.items() if k in endings and v is not None}
    name = options.get("name", "")
    if not isinstance(name, str):
        raise fault(f"{what}: name is {name!r:.60}, expected text.")
    found["name"] = name
    found["passive"] = options.get("passive", True)
    if not isinstance(found["passive"], bool):
        raise fault(f"{what}: passive is {found['passive']!r:.60}, expected True or False.")
    for key, n in (("q", made.nq), ("u", made.nu)):
        given = options.get(key)
        if given is not None:
            names = tuple(given) if isinstance(given, (list, tuple, Matrix)) else (given,)
            names = tuple(e.value if isinstance(e, Expr) and e.op == "symbol" else e for e in names)
            if len(names) != n or not all(isinstance(e, str) and e for e in names):
                raise fault(
                    f"{what}: {key}={names} are not the names of its {n} {'coordinates' if key == 'q' else 'speeds'}."
                )
            found[key] = names
    for key, n in (
        *((k, made.nu) for k in ("damping", "friction", "armature")),
        ("stiffness", made.nq),
        ("rest", made.nq),
    ):
        given = options.get(key, 0)
        listed = list(given) if isinstance(given, (list, tuple, Matrix)) else [given] * n
        row = tuple(values.entries(listed, n, f"{what}: {key}"))
        for e in row:
            x = e.number
            if key != "rest" and x is not None and x < 0:
                raise fault(f"{what}: {key} is {x:g}, expected 0 or more.")
        found[key] = row
    if any(part.quaternion for part in made.parts) and any(e != 0 for e in found["stiffness"]):
        raise fault(
            f"{what}: stiffness acts on coordinates, and a quaternion's are not angles. Add a potential instead."
        )
    speed = values.scalar(options.get("friction_speed", 0), f"{what}: friction_speed")
    if speed.number is not None and speed.number < 0:
        raise fault(
            f"{what}: friction_speed is {speed.number:g}, expected the speed below which friction is smoothed, or "
            "none for friction that holds and slips."
        )
    found["friction_speed"] = speed
    found["limits"] = _limits(options.get("limits"), made.nq, what)
    return replace(made, **found)


def _limits(given: Any, n: int, what: str) -> tuple[Limits, ...]:
    if given is None or (isinstance(given, (list, tuple)) and not given):
        return ()
    pair = (
        isinstance(given, (list, tuple)) and len(given) == 2 and not isinstance(given[0], (Limits, dict, list, tuple))
    )
    rows = list(given) if isinstance(given, (list, tuple)) and not pair else [given]
    if len(rows) != n:
        raise fault(f"{what}: {len(rows)} limits for {n} coordinates. Give one for each.")
    return tuple(_limit(row, what) for row in rows)


def _limit(row: Any, what: str) -> Limits:
    expected = "expected (lower, upper) or lower, upper, speed, effort as numbers"
    if isinstance(row, (list, tuple)) and len(row) == 2:
        row = {"lower": row[0], "upper": row[1]}
    names = [f.name for f in fields(Limits)]
    found = {name: getattr(row, name) for name in names} if isinstance(row, Limits) else row
    if not isinstance(found, dict) or set(found) - set(names):
        raise fault(f"{what}: limits {row!r:.60}, {expected}.")
    for name, x in found.items():
        if x is not None and (isinstance(x, bool) or not isinstance(x, (int, float)) or math.isnan(x)):
            raise fault(f"{what}: limit {name} is {x!r:.60}, {expected}.")
    lower, upper = found.get("lower"), found.get("upper")
    if lower is not None and upper is not None and lower > upper:
        raise fault(f"{what}: lower limit {lower:g} is above the upper limit {upper:g}.")
    return Limits(**found)


def compound(joints: Sequence[Any], kind: str = "compound", **options: Any) -> Joint:
    """Join joints into one: the first is next to the body, the last next to its parent.

    Damping, limits and the other options of the joints stay, unless given anew.

    Reference: [KwatnyBlankenship, section II.D].

    >>> y, z = joint([0, 1, 0, 0, 0, 0]), joint([0, 0, 1, 0, 0, 0])
    >>> compound([y, z]).nu
    2
    """
    what = f"Joint {options['name']!r}" if options.get("name") else f"Joint ({kind})"
    found = list(joints) if isinstance(joints, (list, tuple)) else []
    if not found or not all(isinstance(j, Joint) for j in found):
        raise fault(f"{what}: expected a list of joints.")
    for key in ("damping", "friction", "armature", "stiffness", "rest"):
        options.setdefault(key, [e for j in found for e in getattr(j, key)])
    for key in ("passive", "friction_speed"):
        given = {getattr(j, key) for j in found if key == "passive" or any(e != 0 for e in j.friction)}
        if key not in options and len(given) > 1:
            raise fault(f"{what}: its joints differ in {key}. Give {key}= for the whole.")
        if given:
            options.setdefault(key, given.pop())
    if any(j.limits for j in found):
        options.setdefault("limits", [limit for j in found for limit in j.limits or (Limits(),) * j.nq])
    for key in ("q", "u"):
        if all(getattr(j, key) is not None for j in found):
            options.setdefault(key, [name for j in found for name in getattr(j, key)])
    parts = tuple(part for j in found for part in j.parts)
    return finished(Joint(kind=kind, parts=parts), what, options)
