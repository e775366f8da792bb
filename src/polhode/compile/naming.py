"""Identifiers for generated source, whatever the user's names look like."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from itertools import chain, count

_TAKEN = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    bool complex imaginary main sin cos tan asin acos atan2 exp log tanh sqrt fabs pow abs y0 y1 yn j0 j1 jn gamma
    INFINITY NAN HUGE_VAL HUGE_VALF HUGE_VALL math_errhandling linux unix errno
    alignas alignof and and_eq asm bitand bitor catch char8_t char16_t char32_t class co_await co_return co_yield
    compl concept consteval constexpr constinit const_cast decltype delete dynamic_cast explicit export false friend
    mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast
    requires static_assert static_cast template this thread_local throw true try typeid typename using virtual
    wchar_t xor xor_eq np polhode_batch
    acosh asinh atan atanh cbrt ceil copysign cosh erf erfc exp2 expm1 fdim floor fma fmax fmin fmod frexp hypot
    ilogb ldexp lgamma llrint llround log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward
    remainder remquo rint round scalbln scalbn sinh tgamma trunc isfinite isinf isnan isnormal signbit fpclassify
    isgreater isgreaterequal isless islessequal islessgreater isunordered
    arguments async await debugger eval finally function implements in instanceof interface let null package super
    typeof undefined var with yield Infinity NaN Math Float64Array
    """.split()  # words of C, C++ and JavaScript, names and macros of the C mathematics library, and our np
)
_MACRO = re.compile(r"(FP|M|MATH)_[A-Z0-9_]+|_.*")


def is_taken(name: str) -> bool:
    """Tell whether generated source cannot use a name."""
    return name in _TAKEN or keyword.iskeyword(name) or bool(_MACRO.fullmatch(name))


class Names:
    """Hands out identifiers that clash with no other and no keyword.

    reserved : a pattern of names that the generated source keeps for itself
    """

    def __init__(self, taken: Iterable[str] = (), reserved: str = "") -> None:
        self._taken = set(taken)
        self._reserved = re.compile(reserved)

    def fresh(self, wish: str) -> str:
        """An identifier close to the wish."""
        stem = re.sub(r"[^A-Za-z0-9_]", "_", wish)
        if not re.match(r"[A-Za-z]", stem) or is_taken(stem) or self._reserved.fullmatch(stem):
            stem = f"v_{stem}"
        candidates = chain([stem], (f"{stem}_{k}" for k in count(2)))
        name = next(c for c in candidates if c not in self._taken)
        self._taken.add(name)
        return name


def comment(text: str) -> str:
    """Text that cannot end a comment or a docstring, nor leave its line."""
    return re.sub(r"[^A-Za-z0-9_ ,.()\[\]<>:=+-]", "_", text)
