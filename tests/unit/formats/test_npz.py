"""Flexible bodies in files of arrays."""

import numpy as np
import pytest

import polhode as ph


def arm(**options):
    frame = ph.Frame({"hub": (0, 0, 0), "elbow": (0.5, 0, 0), "tip": (0.5, 0.3, 0.1)})
    for start, end in (("hub", "elbow"), ("elbow", "tip")):
        frame.beam(start, end, EA=7e6, EI_y=60.0, EI_z=50.0, GJ=45.0, mu=0.27, elements=2)
    return frame.flexible(root="hub", interfaces=["tip"], modes=2, keep=3, damping=0.01, **options)


@pytest.mark.parametrize("order", ["first", "second", "full"])
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


def machine(body):
    build = ph.Builder("crane")
    build.body("arm/1", joint=ph.revolute("z", name="a"), flexible=body)
    build.body("arm 1", parent="arm/1", at=(0.5, 0.3, 0.1), joint=ph.revolute("x", name="b"), flexible=body)
    return build.build()


def test_models_in_toml_name_their_files(tmp_path):
    model = machine(arm())
    ph.save(model, tmp_path / "crane.toml")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["crane.toml", "crane_arm_1.npz", "crane_arm_11.npz"]
    assert 'file = "crane_arm_1.npz"' in (tmp_path / "crane.toml").read_text()
    assert ph.load(tmp_path / "crane.toml") == model
    (tmp_path / "crane_arm_1.npz").unlink()
    with pytest.raises(ph.ModelError, match=r"Body 'arm/1': flexible: file 'crane_arm_1.npz': there is no such file"):
        ph.load(tmp_path / "crane.toml")


def test_text_alone_has_no_files(tmp_path):
    from polhode.formats.toml import read_toml
    from polhode.formats.toml_writer import write_toml

    with pytest.raises(ph.ModelError, match=r"its modes are arrays, which text cannot hold.*save\(model, path\)"):
        write_toml(machine(arm()))
    ph.save(machine(arm()), tmp_path / "crane.toml")
    text = (tmp_path / "crane.toml").read_text()
    with pytest.raises(ph.ModelError, match="text alone has no files beside it"):
        read_toml(text)
    for bad in ("../crane_arm_1.npz", "/etc/passwd", "a\\\\b.npz", ""):
        (tmp_path / "bad.toml").write_text(text.replace("crane_arm_1.npz", bad))
        with pytest.raises(ph.ModelError, match="expected the name of a file beside this one"):
            ph.load(tmp_path / "bad.toml")
    (tmp_path / "bad.toml").write_text(text.replace('file = "crane_arm_1.npz"', ""))
    with pytest.raises(ph.ModelError, match="flexible: file is missing"):
        ph.load(tmp_path / "bad.toml")
