"""The operation count of Book's section 6, beside ours: docs/book.md has the table."""

import re
from pathlib import Path

import numpy as np
import pytest

from polhode.equations import formulate
from polhode.formulations.book.operations import counted_arm, operations, printed
from tests.mechanics import At, close

PAGE = Path(__file__).parents[3] / "docs/book.md"
STATED = 12_009  # multiplications, in the text of the paper


def rows():
    """Shapes, order and the two counts of the page."""
    found = re.findall(
        r"^\| (general|in one plane)[^|]*\| `\"(\w+)\"` \| (\d+) \+ (\d+) \| (\d+) \+ (\d+) \|", PAGE.read_text(), re.M
    )
    return [(row[0].split()[-1], row[1], *map(int, row[2:])) for row in found]


def test_the_formula_as_printed():
    assert printed(6, 2, 3) == (11_361, 10_580)


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0]} {row[1]}")
def test_the_page_has_our_counts(row):
    shapes, order, *counts = row
    found = operations(6, 2, 3, shapes=shapes, order=order)
    assert [*found.ours, *found.forward["book"]] == counts
    assert found.ours[0] < STATED / 3
    assert found.ours[1] < found.printed[1] / 3


def test_all_rows_were_read():
    assert len(rows()) == 8


@pytest.mark.parametrize("order", ["first", "second"])
def test_what_is_counted_moves_like_by_other_methods(order):
    """A count of wrong equations would prove nothing."""
    arm = counted_arm(6, range(1, 3), 3, shapes="general", order=order)
    book, denoc = (formulate(arm, method) for method in ("book", "denoc"))
    draw = np.random.default_rng(0)
    at = At(book, draw.uniform(-0.3, 0.3, 12), draw.uniform(-1, 1, 12))
    other = At(denoc, at.q, at.u)
    assert close(at(book.M), other(denoc.M), 1e-12)
    assert close(at(book.c), other(denoc.c), 1e-12)


def test_a_link_without_modes_costs_no_more_than_in_a_rigid_arm():
    """Section 5.2.4: of two flexible links, one made rigid leaves the count of one."""
    one, two = (operations(4, k, 2, shapes="plane", order="full", first=1).ours[0] for k in (1, 2))
    assert operations(4, 0, 2).ours[0] < one < two
