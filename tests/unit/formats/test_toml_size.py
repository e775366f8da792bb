"""Large descriptions: reading and writing take work in proportion to their length."""

import sys

import pytest

from polhode.formats.toml import read_toml
from polhode.formats.toml_writer import write_toml

TOP = 'symbols = ["a"]\n'
BODY = (
    '[[body]]\nname = "b{}"\nparent = "{}"\nmass = "{}"\njoint = {{ type = "revolute", axis = "z", damping = "{}" }}\n'
)


def constants(n, rule):
    return "[constants]\nc0 = 2\n" + "".join(f'c{i} = "{rule.format(i - 1)} + {i}"\n' for i in range(1, n))


def bodies(n, value="c{}"):
    return "".join(BODY.format(i, f"b{i - 1}" if i else "world", *[value.format(i)] * 2) for i in range(n))


def each(n, text):
    return "".join(text.format(i, i + 1) for i in range(n - 1))


CHAIN, PAIR = "sin(c{})*a", bodies(2, "1")
MARKER = '[[marker]]\nname = "m{0}"\nbody = "b1"\nat = ["c{0}", 0, 0]\n'
SPRING = '[[spring]]\nbetween = ["b0", "b1"]\nstiffness = "c{0}"\nlength = 1\n'
LAWS = '[[potential]]\nenergy = "c{0}*b0"\n[[constraint]]\nvalue = "c{0}*b0 - b1"\n'
NAMES = '[[force]]\nspeed = "b{0}_dot"\nvalue = "b{0}"\n[[gear]]\nbetween = ["b{0}_dot", "b{1}_dot"]\nratio = 2\n'
LARGE = {
    "chained constants": lambda n: TOP + constants(n, CHAIN) + bodies(1, f"c{n - 1}"),
    "bodies of chained constants": lambda n: TOP + constants(n, CHAIN) + bodies(n),
    "bodies of exact numbers": lambda n: constants(n, "sqrt(c{})") + bodies(n),
    "markers": lambda n: TOP + constants(n, CHAIN) + PAIR + each(n, MARKER),
    "springs": lambda n: TOP + constants(n, CHAIN) + PAIR + each(n, SPRING),
    "laws": lambda n: TOP + constants(n, CHAIN) + PAIR + each(n, LAWS),
    "names": lambda n: bodies(n, "1") + each(n, NAMES),
}


def calls(work):
    """How many functions a piece of work calls."""
    count = 0

    def note(*_):
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("name", LARGE)
def test_work_grows_with_the_length(name):
    models = {n: read_toml(LARGE[name](n)) for n in (60, 120)}  # also compiles and caches what both need
    reading = [calls(lambda n=n: read_toml(LARGE[name](n))) for n in models]
    writing = [calls(lambda m=m: write_toml(m)) for m in models.values()]
    assert reading[1] < 2.3 * reading[0]
    assert writing[1] < 2.3 * writing[0]
