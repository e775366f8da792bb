"""Shared by the tests of this paper: forty digits."""

import pytest
from mpmath import mp


@pytest.fixture(autouse=True)
def forty_digits():
    with mp.workdps(40):
        yield
