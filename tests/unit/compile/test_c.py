"""C source: clean under every warning, with gcc and with clang; the header in C++ too."""

import math
import shutil
import subprocess

import pytest

from polhode.compile import compile
from polhode.graph import (
    absolute,
    acos,
    asin,
    atan2,
    const,
    cos,
    equal,
    exp,
    log,
    maximum,
    minimum,
    select,
    sign,
    sin,
    sqrt,
    symbol,
    symbols,
    tan,
    tanh,
    vector,
    vector_of,
)

X, Y = symbols("x y")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]


@pytest.fixture(params=["gcc", "clang"])
def strict(request, tmp_path):
    """Compile a C function with all warnings as errors."""
    compiler = shutil.which(request.param)
    if compiler is None:
        pytest.skip(f"{request.param} IS MISSING: the C source is not checked with it")

    def run(f, *flags, source=None):
        f.kernel.save(tmp_path)
        path = tmp_path / f"{f.name}.c"
        if source is not None:
            path = tmp_path / source[0]
            path.write_text(source[1])
        done = subprocess.run(
            [compiler, *(flags or STRICT), "-c", path, "-o", tmp_path / "f.o"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[:2000]

    return run


def every_operation():
    one = [f(X) for f in (sin, cos, tan, asin, acos, exp, log, tanh, sqrt, absolute, sign)]
    two = [X + Y, X - Y, X * Y, X / Y, atan2(X, Y), minimum(X, Y), maximum(X, Y), X < Y, X <= Y, equal(X, Y)]
    fixed = [minimum(X, 2), maximum(X, math.nan), math.inf > X, atan2(X, -1), select(X < 1, -X, 3), X**5, sign(X - 1)]
    return vector([*one, *two, *fixed])


def large():
    a, b = X, Y
    for k in range(1300):
        a, b = b, (a * b + k) / (2 + b * b)
    return vector([b, a, X])


SOURCES = {
    "every operation": ([X, Y], every_operation()),
    "special constants": (
        [X],
        vector([X + math.inf, X - math.inf, X * math.nan, X * 5e-324, X * 1.7976931348623157e308]),
    ),
    "constants only": ([], vector([1, -2, math.inf, -math.inf, math.nan, 1e22])),
    "unused argument": ([X, Y], 2 * X),
    "empty argument": ([vector([]), X], 2 * X),
    "empty output": ([X], [vector([]), X]),
    "only an empty output": ([X], vector([])),
    "same name in and out": ({"x": X}, {"x": 2 * X}),
    "locals as names": (
        list(symbols("t0 t1 t2 t3 w")),
        vector([sin(symbol("t0")) * symbol("t1") + symbol("t2") * symbol("w")]),
    ),
    "macros as names": (
        list(symbols("NAN HUGE_VAL INFINITY isnan")),
        sum(symbols("NAN HUGE_VAL INFINITY isnan"), const(1)),
    ),
    "comment as name": ({"*/ #error /*": X, "??/": Y}, X * Y),
    "many arguments": (list(vector_of("q", 40)), sum(vector_of("q", 40), const(0))),
    "several pieces": ([X, Y], large()),
    "several pieces, names": ({"piece0": X, "w": Y}, {"t5": large(), "piece1": X}),
    "several pieces, empty": ([X, Y], {"none": vector([]), "large": large()}),
}


@pytest.mark.parametrize("name", SOURCES)
def test_source_has_no_warnings(strict, name):
    strict(compile(*SOURCES[name], target="c"))


def test_header_stands_alone_and_twice(strict):
    f = compile([X], vector([X]), target="c", name="once")
    strict(
        f,
        source=(
            "user.c",
            '#include "once.h"\n#include "once.h"\nvoid g(double *a) { once(a, a + 1); }\nvoid g(double *);\n',
        ),
    )


@pytest.mark.parametrize("name", ["x", "new", "this", "template", "class", "namespace"])
def test_header_is_read_by_cpp(strict, name):
    f = compile([symbol(name)], 2 * symbol(name), target="c", name="both")
    strict(f, "-x", "c++", "-fsyntax-only", source=("user.cpp", '#include "both.h"\nint main() { return 0; }\n'))


def test_header_tells_inputs_from_outputs():
    f = compile({"x": X}, {"x": X}, target="c")
    assert f.kernel.header.count(": input") == 1
    assert f.kernel.header.count(": output") == 1


def test_source_allocates_nothing_and_has_no_globals():
    source = compile([X, Y], large(), target="c").source
    assert "malloc" not in source
    assert not [line for line in source.splitlines() if line[:6] in ("double", "static") and "(" not in line]
