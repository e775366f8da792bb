"""Flexible bodies in files of arrays."""

import numpy as np
import pytest

import polhode as ph


def arm(**options):
    frame = ph.Frame({"hub": (0, 0, 0), "elbow": (0.5, 0, 0), "tip": (0.5, 0.3, 0.1)})
    for start, end in (("hub", "elbow"), ("elbow", "tip")):
        frame.beam(start, end, EA=7e6, EI_y=60.0, EI_z=50.0, GJ=45.0, mu=0.27, elements=2)
    return frame.flexible(root="hub", interfaces=["tip"], modes=2, keep=3, damping=0.01, **options)


@pytest.mark.parametrize("order", ["first", "full"])
def test_round_trip(tmp_path, order):
    body = arm(order=order)
    ph.save_flexible(body, tmp_path / "arm.npz")
    read = ph.load_flexible(tmp_path / "arm.npz")
    assert read == body
    assert read.inertia == body.inertia
    assert read.places == body.places
    assert [len(line) for line in read.lines] == [len(line) for line in body.lines]


def test_faults(tmp_path):
    path = tmp_path / "arm.npz"
    with pytest.raises(ph.ModelError, match=r"arm\.npz: there is no such file"):
        ph.load_flexible(path)
    path.write_bytes(b"no archive")
    with pytest.raises(ph.ModelError, match=r"is no flexible body, expected a file that polhode.save_flexible wrote"):
        ph.load_flexible(path)
    np.savez(path, told=np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ph.ModelError, match="is no flexible body"):  # and nothing was unpickled
        ph.load_flexible(path)
    ph.save_flexible(arm(), path)
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **{**arrays, "P": arrays["P"][:2], "losses": arrays["losses"] * np.nan})
    with pytest.raises(ph.ModelError, match=r"'P' has shape \(2, 3\)"):
        ph.load_flexible(path)
    with pytest.raises(ph.ModelError, match="'losses' has numbers that are not finite"):
        ph.load_flexible(path)
    np.savez(path, **{**arrays, "edges": np.array([[0, 99]])})
    with pytest.raises(ph.ModelError, match="edges lead to nodes that are not there"):
        ph.load_flexible(path)
    with pytest.raises(TypeError, match="save_flexible: str"):
        ph.save_flexible("arm", path)
