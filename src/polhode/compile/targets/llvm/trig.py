"""Sine and cosine together, as branch-free LLVM IR for one angle or several.

x = n pi/2 + r with |r| <= pi/4 (Cody and Waite's reduction with pi/2 in three
parts and fused multiply-adds, so r is right to its last bit for |x| <= 1e6),
then

    sin r = r + r z S(z),    cos r = 1 - z/2 + z^2 C(z),    z = r^2,

with S and C of degree 5, interpolated at the Chebyshev points of
[0, (pi/4)^2] in 60 digits: 2e-17 and 9e-19 off. Angles beyond 1e6, and those
that are not finite, are done again by the system's sin and cos, lane by lane.
"""

from __future__ import annotations

from .ir import Width, Writer, literal

LIMIT = 1e6

_TWO_OVER_PI = 0.6366197723675814
_HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
_SHORT_HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21)  # 33 bits each
_ROUND = 6755399441055744.0  # 1.5 * 2**52: adding it leaves an integer in the low bits
_SIN = (
    -0.16666666666666666,
    0.008333333333330948,
    -0.0001984126983675857,
    2.755731610255057e-06,
    -2.5051131844614108e-08,
    1.5918129266803394e-10,
)
_COS = (
    0.041666666666666664,
    -0.0013888888888887398,
    2.4801587298765686e-05,
    -2.7557317271728623e-07,
    2.087614626815952e-09,
    -1.1382632407965617e-11,
)


def sincos(out: Writer, angles: list[str], width: Width, fused: bool = True) -> list[tuple[str, str]]:
    """Emit sine and cosine of each angle, all of the same width.

    One test covers them all: is any of them beyond the limit?

    fused : whether multiply-adds are one instruction; else parts of pi/2 are so short that their products are exact
    """
    near = [_reduced(out, x, width, fused) for x in angles]
    far = None
    for x in angles:
        size = out.line(f"call {width.type} @llvm.fabs.{width.suffix}({width.type} {x})")
        beyond = out.line(f"fcmp ugt {width.type} {size}, {width.splat(LIMIT)}")
        far = beyond if far is None else out.line(f"or {width.boolean} {far}, {beyond}")
    if width.lanes > 1:
        far = out.line(f"call i1 @llvm.vector.reduce.or.v{width.lanes}i1({width.boolean} {far})")
    again, done, here = out.label(), out.label(), out.block
    out.raw(f"br i1 {far}, label %{again}, label %{done}, !prof !0")
    # cold: the system's functions for the lanes that need them
    out.start(again)
    fixed = []
    for x, (s, c) in zip(angles, near, strict=True):
        both = out.line(f"call {width.pair} @far{width.lanes}({width.type} {x}, {width.type} {s}, {width.type} {c})")
        fixed.append([out.line(f"extractvalue {width.pair} {both}, {k}") for k in (0, 1)])
    out.raw(f"br label %{done}")
    out.start(done)
    return [
        tuple(  # type: ignore[misc]
            out.line(f"phi {width.type} [ {old}, %{here} ], [ {new}, %{again} ]")
            for old, new in zip(olds, news, strict=True)
        )
        for olds, news in zip(near, fixed, strict=True)
    ]


def _reduced(out: Writer, x: str, width: Width, fused: bool) -> tuple[str, str]:
    t, integer = width.type, width.integer

    def fma(a: str, b: str, c: str) -> str:
        if not fused:
            return out.line(f"fadd {t} {out.line(f'fmul {t} {a}, {b}')}, {c}")
        return out.line(f"call {t} @llvm.fma.{width.suffix}({t} {a}, {t} {b}, {t} {c})")

    def polynomial(z: str, z2: str, c: tuple[float, ...]) -> str:
        # even and odd coefficients apart: half the latency of Horner's rule
        s = [width.splat(v) for v in c]
        even = fma(z2, fma(z2, s[4], s[2]), s[0])
        odd = fma(z2, fma(z2, s[5], s[3]), s[1])
        return fma(z, odd, even)

    shifted = fma(x, width.splat(_TWO_OVER_PI), width.splat(_ROUND))
    n = out.line(f"fsub {t} {shifted}, {width.splat(_ROUND)}")
    r = x
    for part in _HALF_PI if fused else _SHORT_HALF_PI:
        r = fma(n, width.splat(-part), r)
    z = out.line(f"fmul {t} {r}, {r}")
    z2 = out.line(f"fmul {t} {z}, {z}")
    s = fma(out.line(f"fmul {t} {r}, {z}"), polynomial(z, z2, _SIN), r)
    c = fma(z2, polynomial(z, z2, _COS), fma(z, width.splat(-0.5), width.splat(1.0)))
    # quadrant: swap in odd ones, then the signs
    bits = out.line(f"bitcast {t} {shifted} to {integer}")
    odd = out.line(f"trunc {integer} {bits} to {width.boolean}")
    results = []
    for first, second, step in ((s, c, 0), (c, s, 1)):
        value = out.line(f"select {width.boolean} {odd}, {t} {second}, {t} {first}")
        turned = out.line(f"add {integer} {bits}, {width.splat(step)}") if step else bits
        flag = out.line(f"and {integer} {turned}, {width.splat(2)}")
        flag = out.line(f"shl {integer} {flag}, {width.splat(62)}")
        value = out.line(f"bitcast {t} {value} to {integer}")
        value = out.line(f"xor {integer} {value}, {flag}")
        results.append(out.line(f"bitcast {integer} {value} to {t}"))
    return results[0], results[1]


def far_function(width: Width) -> str:
    """The cold function: replace the results of far lanes by the system's."""
    out = Writer()
    s, c = "%s", "%c"
    for lane in range(width.lanes):
        x = width.extract(out, "%x", lane)
        for name in ("sin", "cos"):
            old = s if name == "sin" else c
            value = width.extract(out, old, lane)
            new = out.line(f"call double @{name}(double {x})")
            size = out.line(f"call double @llvm.fabs.f64(double {x})")
            beyond = out.line(f"fcmp ugt double {size}, {literal(LIMIT)}")
            value = out.line(f"select i1 {beyond}, double {new}, double {value}")
            value = width.insert(out, old, value, lane)
            s, c = (value, c) if name == "sin" else (s, value)
    pair = out.line(f"insertvalue {width.pair} undef, {width.type} {s}, 0")
    pair = out.line(f"insertvalue {width.pair} {pair}, {width.type} {c}, 1")
    out.raw(f"ret {width.pair} {pair}")
    header = f"define internal {width.pair} @far{width.lanes}({width.type} %x, {width.type} %s, {width.type} %c) #1"
    return f"{header} {{\n{out.text()}\n}}\n"
