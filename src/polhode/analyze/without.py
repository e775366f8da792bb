"""Linear models without states that no other depends on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from polhode.model.errors import closest, listed

if TYPE_CHECKING:
    from .linear_model import LinearModel


def left_out(lin: LinearModel, names: Sequence[str]) -> LinearModel:
    """The model without the states of these names, and without what of the machine depends on them."""
    for name in names:
        if name not in lin.states:
            raise KeyError(f"without: there is no state {name!r}. {closest(name, lin.states)}")
    if not names:
        return lin
    gone = [i for i, name in enumerate(lin.states) if name in names]
    kept = [i for i in range(len(lin.states)) if i not in gone]
    rows = [i for i, name in enumerate(lin.outputs) if name not in names or not lin.C[i, gone].any()]
    for what, known, part in (
        ("the rate of", [lin.states[i] for i in kept], lin.A[np.ix_(kept, gone)]),
        ("the output", [lin.outputs[i] for i in rows], lin.C[np.ix_(rows, gone)]),
    ):
        if part.any():
            i, j = np.argwhere(part)[0]
            raise ValueError(
                f"without: {what} {known[i]!r} depends on {lin.states[gone[j]]!r}, which so cannot be left out."
            )
    whole = [i for i in range(len(lin.whole)) if not lin.lift[i, gone].any()]
    first = len(lin.whole) - lin.speeds - lin.sizes[2]
    a, b, _ = lin.sizes
    kinds = [0 if i < a else 1 if i < a + b else 2 for i in kept]
    return replace(
        lin,
        A=lin.A[np.ix_(kept, kept)],
        B=lin.B[kept],
        C=lin.C[np.ix_(rows, kept)],
        D=lin.D[rows],
        states=tuple(lin.states[i] for i in kept),
        outputs=tuple(lin.outputs[i] for i in rows),
        drift=lin.drift[kept],
        sizes=(kinds.count(0), kinds.count(1), kinds.count(2)),
        whole=tuple(lin.whole[i] for i in whole),
        lift=lin.lift[np.ix_(whole, kept)],
        whole_drift=lin.whole_drift[whole],
        speeds=sum(first <= i < first + lin.speeds for i in whole),
        notes=(*lin.notes, f"Without {listed(names)}, which no other state depends on."),
    )
