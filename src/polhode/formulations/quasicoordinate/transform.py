"""The transformations between the quasicoordinates of limbs and the speeds, one by one, to be read.

    (R_dot, omega)_G = C_0^R D_0 D_1 D_2 D_3 alpha_dot

C_0^R : absolute from relative angular velocities, of all limbs one after the other
D_0   : relative angular velocities from the speeds of each limb's joints, as if limbs shared nothing
D_1   : limbs that share their base, D_2 : further bodies that they share; after these the speeds are u
D_3   : transmissions, couplings and other constraints that are embedded

Reference: [NelsonQuinn, eq. 10 to 15, 29, 33 to 40, 42 to 49].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polhode.graph import Expr, Matrix, as_expr, evaluate, free_symbols, identity, matrix, zeros
from polhode.graph.printing import READABLE, summary, tree_size
from polhode.kinematics import InSpeeds, Motion
from polhode.kinematics.joint import block_diagonal
from polhode.model import WORLD
from polhode.model.errors import closest
from polhode.model.fields import short
from polhode.model.transmissions import PARALLEL

from .chain import Member, members
from .limbs import Limbs

AXES = "xyz"


@dataclass(frozen=True, kw_only=True, repr=False)
class Transformations:
    """The matrices, and what their rows and columns are.

    limbs : C^R and D of each limb, by name [NelsonQuinn, eq. 17, 29, 30]; C0, D0 have them along a diagonal [eq. 35]
    names : of the rows of D_0, (R_dot, Omega) with angular velocities before C^R, each relative to the body it is
            measured from; then of the speeds after D_0, D_1, D_2 and D_3. "b_dot from palm" is the rate of a joint
            whose angle is measured from the palm, not from the body before it
    """

    limbs: dict[str, tuple[Matrix, Matrix]]
    C0: Matrix
    D0: Matrix
    D1: Matrix
    D2: Matrix
    D3: Matrix
    names: tuple[tuple[str, ...], ...]

    @property
    def T(self) -> Matrix:
        """All of them, from the last speeds to the quasicoordinates of all limbs."""
        found: Matrix = self.C0 @ (self.D0 @ (self.D1 @ (self.D2 @ self.D3)))
        return found

    def __repr__(self) -> str:
        """Every row of the matrices after C^R, as a sum."""
        rows = []
        steps = zip(("D0", "D1", "D2", "D3"), (self.D0, self.D1, self.D2, self.D3), strict=True)
        for k, (title, D) in enumerate(steps):
            rows.append(f"{title}, {D.shape[0]} x {D.shape[1]}")
            for name, row in zip(self.names[k], D.rows(), strict=True):
                terms = [_term(e, to) for e, to in zip(row, self.names[k + 1], strict=True) if e != 0]
                rows.append(f"  {name} = {' + '.join(terms) or '0'}".replace("+ -", "- "))
        return "\n".join(rows)


def _term(e: Expr, name: str) -> str:
    """A coefficient, in brackets where it is a sum, and what it is of."""
    if e in (1, -1):
        return name if e == 1 else f"-{name}"
    inner = e.args[0] if e.op == "neg" else e
    written = summary(e) if tree_size(e) > READABLE else short(e)
    return f"({written}) {name}" if inner.op in ("add", "sub") else f"{written} {name}"


def transformations(kin: Motion, limbs: Limbs, inboard: Mapping[str, str] | None = None) -> Transformations:
    """The transformations of a machine in its speeds.

    inboard : bodies whose angle is measured from a body further in than the one before, as that of a motor
              which drives it by a cable [NelsonQuinn, eq. 29]; the axes in between must be parallel
    """
    bodies = {m.name: m for m in members(kin.joints)}
    if bent := [m.name for m in bodies.values() if m.modes is not None]:
        raise ValueError(
            f"Model {kin.model.name!r}: {bent[0]!r} deforms, and the transformations are those of rigid bodies. "
            'Its equations are made without them: formulate(model, "quasicoordinate").'
        )
    chains = [tuple(bodies[name] for name in (*limb.bodies, *limb.rotors)) for limb in limbs]
    welded = {marker.name: marker.body for marker in kin.joints.model.markers}
    starts = {name: welded.get(start, start) for name, start in (inboard or {}).items()}
    between = _between(bodies, starts)
    carriers = {m.name: WORLD if m.parent is None else m.parent.name for m in bodies.values()} | starts
    made = {limb.name: (_relative(chain, between), _joints(chain)) for limb, chain in zip(limbs, chains, strict=True)}
    own = [[(m, k) for m in chain for k in range(m.D.shape[1])] for chain in chains]  # a speed of a limb
    whole = [(l, m, k) for l, part in enumerate(own) for m, k in part]
    after1 = list(dict.fromkeys((m.name, k, None if m.parent is None else l) for l, m, k in whole))
    after1.sort(key=lambda entry: entry[2] is not None)  # bases first
    after2 = [(m.name, k) for m in bodies.values() for k in range(m.D.shape[1])]  # the speeds of the joints
    D1 = _picking([(m.name, k, None if m.parent is None else l) for l, m, k in whole], after1)
    D2 = _picking([entry[:2] for entry in after1], after2)
    D3 = kin.speeds.G if isinstance(kin, InSpeeds) else identity(len(kin.u))
    if between:
        D3 = _measured(bodies, between) @ D3
    u, last = [str(s.value) for s in kin.joints.u], tuple(str(s.value) for s in kin.u)
    measured = [f"{v} from {starts[name]}" if between.get(name) else v for v, (name, _) in zip(u, after2, strict=True)]
    place = dict(zip(after2, measured, strict=True))
    limb_names = [limb.name for limb in limbs]
    rows = [_rows(limb, chain, carriers) for limb, chain in zip(limb_names, chains, strict=True)]
    return Transformations(
        limbs=made,
        C0=block_diagonal([C for C, _ in made.values()]),
        D0=block_diagonal([D for _, D in made.values()]),
        D1=D1,
        D2=D2,
        D3=D3,
        names=(
            tuple(name for part in rows for name in part),
            tuple(f"{place[m.name, k]} of {limb_names[l]}" for l, m, k in whole),
            tuple(place[name, k] + ("" if l is None else f" of {limb_names[l]}") for name, k, l in after1),
            tuple(measured),
            last,
        ),
    )


def _sliding(chain: Sequence[Member]) -> list[Member]:
    """Bodies beyond the base whose origin moves relative to the body before it."""
    return [m for m in chain[1:] if any(e != 0 for e in m.slide.entries)]


def _rows(limb: str, chain: Sequence[Member], carriers: Mapping[str, str]) -> list[str]:
    """What the rows of D of a limb are called: R_dot, relative angular velocities, slides."""
    turns = [f"Omega {m.name} from {carriers[m.name]}" for m in chain]
    titles = ["R_dot", *turns, *(f"slide {m.name}" for m in _sliding(chain))]
    return [f"{title} {axis} of {limb}" for title in titles for axis in AXES]


def _joints(chain: Sequence[Member]) -> Matrix:
    """D of a limb with the rows of its base's velocity. Reference: [NelsonQuinn, eq. 14, 17]."""
    base = chain[0]
    first = [(base, base.C @ base.slide)]
    blocks = first + [(m, m.D) for m in chain] + [(m, m.slide) for m in _sliding(chain)]
    rows = []
    for member, block in blocks:
        for row in block.rows():
            rows.append([e for m in chain for e in (row if m is member else [0] * m.D.shape[1])])
    return matrix(rows)


def _relative(chain: Sequence[Member], between: Mapping[str, Mapping[str, int]]) -> Matrix:
    """C^R of a limb, with C_ij = 0 where what lies beyond j is measured from before it. [NelsonQuinn, eq. 11, 29]."""
    n, slides = len(chain), len(_sliding(chain))
    blocks = [[zeros(3, 3)] * (1 + n + slides) for _ in range(1 + n + slides)]
    for i in (0, *range(1 + n, 1 + n + slides)):
        blocks[i][i] = identity(3)
    skipped: set[int] = set()
    for i, m in enumerate(chain):
        before = between.get(m.name, {})
        skipped = {j for j in range(i) if chain[j].name in before or (j in skipped and chain[j] in m.chain)}
        for j in range(i + 1):
            if j not in skipped and chain[j] in m.chain:
                blocks[1 + i][1 + j] = m.C.T @ chain[j].C if j < i else identity(3)
    return matrix([[e for block in row for e in block[k]] for row in blocks for k in range(3)])


def _between(bodies: Mapping[str, Member], inboard: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """For bodies that are measured from further in, the bodies in between with the way their axes point."""
    found: dict[str, dict[str, int]] = {}
    for name, start in inboard.items():
        for said in (name, start):
            if said not in bodies and said != WORLD:
                raise KeyError(f"inboard: there is no body {said!r} that moves. {closest(said, bodies)}")
        chain = bodies[name].chain
        names = [m.name for m in chain]
        if start not in (*names[:-1], WORLD):
            raise ValueError(f"inboard: {start!r} does not carry {name!r}, expected one of {', '.join(names[:-1])}.")
        first = 0 if start == WORLD else names.index(start) + 1
        found[name] = {m.name: _way(m, chain[-1], start) for m in chain[first:-1]}
    return found


def _way(m: Member, last: Member, start: str) -> int:
    """1 or -1 where the axes of two hinges are parallel wherever they are."""
    if m.D.shape[1] == last.D.shape[1] == 1:
        turned = last.C.T @ (m.C @ m.D[:, 0])
        point = {s: 0.3 + 0.37 * i for i, s in enumerate(sorted(free_symbols([*turned]), key=str))}
        cosine = float(evaluate(turned @ last.D[:, 0], point))
        if abs(abs(cosine) - 1) < PARALLEL:
            return 1 if cosine > 0 else -1
    raise ValueError(
        f"inboard: {last.name!r} cannot be measured from {start!r}: its axis is not parallel to that of {m.name!r}. "
        "Have a motor sum its joints up, build.motor(..., sums={...}), or write a constraint among their speeds."
    )


def _measured(bodies: Mapping[str, Member], between: Mapping[str, Mapping[str, int]]) -> Matrix:
    """The rates that are measured from further in, of the speeds of the joints."""
    n = sum(m.D.shape[1] for m in bodies.values())
    rows = [list(row) for row in identity(n).rows()]
    for name, ways in between.items():
        for other, way in ways.items():
            rows[bodies[name].at[0]][bodies[other].at[0]] = as_expr(way)
    return matrix(rows)


def _picking(rows: Sequence[object], columns: Sequence[object]) -> Matrix:
    """1 where a row is a column."""
    place = {column: i for i, column in enumerate(columns)}
    return matrix([[int(place[row] == j) for j in range(len(columns))] for row in rows])
