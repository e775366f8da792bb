"""Straight beams that bend in two planes, twist and stretch, from their sections."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from polhode.graph import Expr, Matrix, as_expr, evaluate, free_symbols, matrix, vector, zeros
from polhode.graph.node import Operand
from polhode.spatial.modal import ModalInertia

from . import beam_reading as read
from . import values
from .beam_inertia import integrals
from .beam_matrices import BENDING, damping, stiffness
from .ends import exact, held_free, polynomial
from .errors import fault
from .flexible import SHORTENING, Flexible, Station
from .sections import Section, positive, proportion, samples, section, times
from .shapes import ONE, Series, Shape, product, swept
from .spelling import spelled

_MADE = "Make mu, EI_y, EI_z, J_y, J_z and GJ of a section and a material with **section(E=..., rho=..., width=...)."
_INSTEAD = {
    "EI": "Give EI_z, which resists bending along y, or EI_y, along z.",
    "mass": "Give mu, the mass per length; a hub and payloads are said with build.body.",
    **dict.fromkeys(("E", "I", "rho", "A", "G", "width", "height", "diameter"), _MADE),
}

POLYNOMIALS = 30  # of one kind; the lowest frequencies have lost 2e-9 then


@dataclass(frozen=True, slots=True)
class Mode:
    """One shape of a beam: what it moves and how, as a function of x/L."""

    kind: str
    shape: Shape


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Beam(Flexible):
    """A beam, as `beam` says; its own x is along it, y and z are the axes of its sections.

    The section at x, undeformed at start + x e_x, is at
        w = y e_y + z e_z + (stretch - 1/2 int_0^x (y'^2 + z'^2)) e_x,  turned by  theta = twist e_x - z' e_y + y' e_z
    and its points are at w + exp(skew(theta)) r.  Each of y, z, twist, stretch is sum_k d_k f_k(x/L).

    length        : m
    mu            : kg/m
    EI_y, EI_z    : N m^2, against rotations about y and z, so of displacements along z and y
    GJ, EA        : N m^2 and N
    J_y, J_z      : kg m, moments of inertia per length of the section about its y and z; their sum is the polar one
    counts        : how many modes of each kind, in the order y, z, twist, stretch
    ends, shapes, tip_mass : which shapes
    axis, across  : (3,), the beam's x, and its y where the shortest turn from x to the axis is not meant
    start         : (3,), where its x is 0
    zeta          : damping ratios, one for each mode;  eta : s, a time of the material, D = eta K
    rotary        : whether sections have inertia also as they turn in bending
    """

    length: Expr = field()
    mu: Section
    EI_y: Section | None
    EI_z: Section | None
    GJ: Section | None
    EA: Section | None
    J_y: Section | None
    J_z: Section | None
    counts: tuple[tuple[str, int], ...]
    ends: str
    shapes: str | tuple[tuple[str, tuple[tuple[float, ...], ...]], ...]
    tip_mass: Expr
    axis: Matrix
    across: Matrix | None
    start: Matrix
    zeta: tuple[Expr, ...]
    eta: Expr
    rotary: bool
    order: str
    rotation: str

    def __repr__(self) -> str:
        return f"beam of length {self.length} with modes {', '.join(self.modes)}"

    @property
    def modes(self) -> tuple[str, ...]:
        return tuple(f"{kind}{n}" for kind, many in self.counts for n in range(1, many + 1))

    @cached_property
    def frame(self) -> Matrix:
        """(3, 3), the beam's axes as columns, in the axes of the body."""
        return read.frame(self.axis, self.across)

    @property
    def ratio(self) -> float:
        """The mass at the tip by that of the beam, for its shapes."""
        found = proportion(self.tip_mass, self.mu.scale * self.length)
        return 0.0 if found is None else found / product(ONE, weight=self.mu)

    @cached_property
    def parts(self) -> tuple[Mode, ...]:
        """The shapes of the modes."""
        return tuple(Mode(kind, self._shape(kind, n)) for kind, many in self.counts for n in range(1, many + 1))

    def _shape(self, kind: str, n: int) -> Shape:
        bending = kind in BENDING
        given = {} if isinstance(self.shapes, str) else dict(self.shapes)
        if kind in given:
            return Series.of_powers(given[kind][n - 1])
        if self.shapes == "polynomial":
            return polynomial(self.ends if bending else "", n)
        return exact(self.ends, n, self.ratio) if bending else held_free(n)

    @cached_property
    def inertia(self) -> ModalInertia:
        """Integrals over its mass. Reference: [Book, eq. 25, 28, 30, 52]; for H2 and G2 see `integrals`."""
        return integrals(self)

    @cached_property
    def stiffness(self) -> Matrix:
        """(m, m). Reference: [Book, eq. 42 to 45], with stretch besides."""
        return stiffness(self)

    @property
    def frequencies(self) -> np.ndarray:
        """Of the beam alone, held as its ends say, rad/s, rising; what it carries is not in them."""
        M, K = self.inertia.at([as_expr(0)] * len(self.modes)).M, self.stiffness
        if free_symbols([*M.entries, *K.entries]):
            raise fault(
                "Beam: has symbols, and so no numbers for its frequencies. Give numbers, or linearize the machine."
            )
        L = np.linalg.inv(np.linalg.cholesky(np.array(evaluate(M, {}))))
        found: np.ndarray = np.sqrt(np.linalg.eigvalsh(L @ np.array(evaluate(K, {})) @ L.T))
        return found

    @cached_property
    def damping(self) -> Matrix:
        """(m, m), of damping ratios and of the material."""
        return damping(self)

    def station(self, p: Matrix, what: str) -> Station:
        """The section beside a point of the undeformed body; what is before a clamped end is on the hub, and still."""
        e, L = self.frame.T[0], self.length
        along = e @ (p - self.start)
        part = proportion(along, L)
        if self.ends != "pinned-pinned" and all(x < -1e-9 for x in samples(along, L)):
            return replace(self._section(0.0), p=self.start + e * along)  # of the hub, before the clamped end
        if part is None:
            raise fault(
                f"{what} has x = {along} along a beam of the length {L}, expected a fixed part of it. "
                f"Give {'numbers' if L.number is not None else f'it as 0.5*{L}, or both as numbers'}."
            )
        if not -1e-9 <= part <= 1 + 1e-9:
            first, last = ("(" + ", ".join(map(str, end)) + ")" for end in (self.start, self.start + e * L))
            raise fault(
                f"{what} is at {part:.12g} of the length of its beam, expected from 0 to 1: the beam goes from {first} "
                f"to {last}. Move it, or weld to the beam's end what reaches further."
            )
        return self._section(min(max(part, 0.0), 1.0))

    @property
    def root(self) -> Station:
        """The section that the joint holds: the one beside it, or the nearer end where the beam begins off it."""
        part = proportion(-(self.frame.T[0] @ self.start), self.length)
        return self.station(zeros(3), "Its joint") if part is None else self._section(min(max(part, 0.0), 1.0))

    def _section(self, part: float) -> Station:
        """The section at a part of the length."""
        at, L, R = np.array(part), self.length, self.frame
        Phi: list[Matrix] = []
        Psi: list[Matrix] = []
        for mode in self.parts:
            f, waves = mode.shape, mode.shape.waves
            value, slope = _clean(float(f(at)), part, waves), _clean(float(f.slope(at)), part, waves**2)
            turn = times(1 / L, slope)
            how: dict[str, tuple[tuple[Operand, ...], tuple[Operand, ...]]] = {
                "y": ((0, value, 0), (0, 0, turn)),
                "z": ((0, 0, value), (0, -turn, 0)),
                "twist": ((0, 0, 0), (value, 0, 0)),
                "stretch": ((value, 0, 0), (0, 0, 0)),
            }
            moved, turned = how[mode.kind]
            Phi.append(R @ vector(moved))
            Psi.append(R @ vector(turned))
        return Station(
            p=self.start + R.T[0] * (L * values.whole(as_expr(part), 1e-15)),
            Phi=matrix(Phi).T,
            Psi=matrix(Psi).T,
            g=self._shortening(at) if self.order in SHORTENING and part else (),  # 0 at its beginning
        )

    def _shortening(self, at: np.ndarray) -> tuple[tuple[Matrix, ...], ...]:
        """-e_x int_0^x f_k' f_l' / L, of two modes in the same plane."""
        e: Matrix = self.frame.T[0]

        def of(a: Mode, b: Mode) -> Matrix:
            if a.kind != b.kind or a.kind not in BENDING:
                return zeros(3)
            return e * times(-1 / self.length, float(swept(a.shape.slope, b.shape.slope, at)))

        many = range(len(self.parts))
        return tuple(tuple(of(self.parts[min(k, l)], self.parts[max(k, l)]) for l in many) for k in many)

    @cached_property
    def lines(self) -> tuple[tuple[Station, ...], ...]:
        many = 20 if all(count <= 3 for _, count in self.counts) else 40
        return (tuple(self._section(i / many) for i in range(many + 1)),)

    def said(self) -> list[Expr]:
        """Every expression that the user gave."""
        sections = [self.mu, self.EI_y, self.EI_z, self.GJ, self.EA, self.J_y, self.J_z]
        scales = [part.scale for part in sections if part is not None]
        return [self.length, *scales, self.tip_mass, *self.start, *self.zeta, self.eta]


@spelled("beam", _INSTEAD)
def beam(
    *,
    length: Any,
    mu: Any,
    EI_y: Any = None,
    EI_z: Any = None,
    GJ: Any = None,
    EA: Any = None,
    J: Any = None,
    J_y: Any = None,
    J_z: Any = None,
    modes: Any = None,
    ends: str = "clamped-free",
    shapes: Any = "exact",
    tip_mass: Any = None,
    axis: Any = "x",
    across: Any = None,
    start: Any = (0, 0, 0),
    damping: Any = 0,
    eta: Any = 0,
    rotary: bool = False,
    order: str = "first",
    rotation: str = "proper",
) -> Beam:
    """Make a straight beam that bends, twists and stretches, for `build.body(..., flexible=beam(...))`.

    >>> from polhode.graph import symbols
    >>> from polhode.model import beam
    >>> L, m, EI = symbols("L m EI")
    >>> arm = beam(length=L, mu=m, EI_z=EI, modes=2)
    >>> arm.modes
    ('y1', 'y2')
    >>> arm.inertia.m, arm.stiffness[0, 0]  # doctest: +ELLIPSIS
    (L*m, 3.09059084208...*EI/L**3)

    length, mu  : in m, and the mass per length in kg/m
    EI_z, EI_y  : N m^2; EI_z resists rotation about z, so bending along y, modes y1, y2, ...; EI_y that along z
    GJ, EA      : N m^2 and N, of twist (which needs J) and stretch
    J           : kg m, polar moment of inertia per length; or J_y and J_z, about the section's y and z: J = J_y + J_z
    modes       : how many in each plane that has a stiffness, 3 unless said, with one of twist where GJ is given and
                  one of stretch where EA is; or by kind: {"y": 3, "z": 2, "twist": 1, "stretch": 1}
    ends        : "clamped-free", "clamped-pinned", "pinned-pinned", "clamped-mass". A pinned end at x = 0 turns with
                  the modes. Twist and stretch are held at x = 0 and free at the other end
    tip_mass    : kg, with "clamped-mass": what the shapes expect at the tip. It has no mass here: the payload is a
                  body of its own, welded to the tip
    shapes      : "exact" ones of a uniform beam; "polynomial", Legendre's times what vanishes at the ends, for rotating
                  and varying beams; or coefficients of 1, x/L, (x/L)^2, ... of each. The largest displacement of
                  a shape is 1, at the tip where that is free: amplitudes are in m, those of twist in rad
    axis, across, start : the beam's x, "x", "-z" or three numbers, in the axes of the body; its y, unless it is as the
                  shortest turn from x to the axis leaves it (so a beam along y keeps its z); where its x is 0: what
                  is before a clamped end is a rigid hub
    damping     : damping ratio of the modes, for all, by kind ({"y": 0.01}), or for each
    eta         : s, of the material (Kelvin and Voigt): stress = E (strain + eta strain_rate), D = eta K
    rotary      : whether sections have inertia as they turn in bending (Rayleigh), of J_y and J_z
    order       : "first" (default) has the shortening of what bends, so rotating beams stiffen; "second" has it without
                  leaving out small terms, for beams that bend far; "full" is the linear field alone; "paper" as [Book],
                  for method="book"
    rotation    : of sections, "proper", or "linear" as [Book, eq. 7], for "book" and "lagrange"

    Quantities are numbers, symbols or expressions; all but the length may vary: functions of x/L, or tables of it
    [(0, 2.0), (1, 1.5)], linear between their points, with a point twice where the section steps.
    """
    ends, order, rotation = read.words(ends, order, rotation)
    L, line = positive(length, "Beam: length"), section(mu, "Beam: mu")
    said = {"EI_y": EI_y, "EI_z": EI_z, "GJ": GJ, "EA": EA}
    given = {name: None if value is None else section(value, f"Beam: {name}") for name, value in said.items()}
    about_y, about_z = read.spread(J, J_y, J_z)
    own = read.own_shapes(shapes, given, ends)
    counts = read.counted(modes, given, own)
    if shapes == "polynomial" and max(counts.values()) > POLYNOMIALS:
        raise fault(
            f"Beam: modes has {max(counts.values())} polynomials of one kind, expected {POLYNOMIALS} at most: of more "
            'the lowest frequencies lose digits. Use shapes="exact" for so many.'
        )
    if "twist" in counts and about_y is None and about_z is None:
        raise fault("Beam: its twist moves nothing without J, the polar moment of inertia per length. Give J=...")
    if not isinstance(rotary, bool):
        raise fault(f"Beam: rotary is {rotary!r:.60}, expected True or False.")
    if rotary and about_y is None and about_z is None:
        raise fault("Beam: rotary inertia is 0 without J_y and J_z, moments of inertia per length. Give them, or J.")
    along, side = read.axes(axis, across)
    made = Beam(
        length=L,
        mu=line,
        **given,
        J_y=about_y,
        J_z=about_z,
        counts=tuple(counts.items()),
        ends=ends,
        shapes=shapes if isinstance(shapes, str) else tuple(own.items()) or "exact",
        tip_mass=read.tip(tip_mass, ends, line, L),
        axis=along,
        across=side,
        start=values.entries(start, 3, "Beam: start"),
        zeta=read.ratios(damping, counts),
        eta=read.nonnegative(eta, "Beam: eta"),
        rotary=rotary,
        order=order,
        rotation=rotation,
    )
    made.station(zeros(3), "Beam: its joint")  # which must have a section
    _ = made.damping  # its faults belong here, too
    return made


def _clean(x: float, part: float, waves: float) -> float | int:
    """A value without the dust of rounding at the ends, where 0 and 1 must be so."""
    near = round(x)
    return near if part in (0.0, 1.0) and abs(near) <= 1 and abs(x - near) <= 1e-14 * waves else x
