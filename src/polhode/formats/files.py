"""`load`: a model from a file, by what the file is."""

from __future__ import annotations

from pathlib import Path

from polhode.model import Model, ModelError
from polhode.model.errors import closest

LARGEST = 64 * 2**20  # bytes; no description of a mechanism is larger


def load(
    path: str | Path, *, floating: bool | str = False, passive: bool | None = None, limits: str | None = None,
    actuators: bool = True,
) -> Model:  # fmt: skip
    """Read a model from a URDF, MJCF or TOML file.

    floating : give the root of a URDF six degrees of freedom; True or
               "quaternion" for a unit quaternion, "angles" for three angles
    passive  : whether springs, dampers and friction of the file's joints act.
               None follows the custom of the format: they act in MJCF, and are
               only kept in URDF, where they are often placeholders. In TOML each
               joint says it for itself.
    limits   : "stop" where limits of joints are stops in simulations, "ignore" where they
               are only kept. None is "stop", or what a TOML file says.
    actuators : False leaves out the actuators of MJCF and the transmissions of URDF, with their controls

    Every fault of a file is reported at once, as one ModelError.
    """
    path = Path(path)
    if floating not in (True, False, "quaternion", "angles"):
        raise ValueError(f'floating={floating!r}: expected True, False, "quaternion" or "angles".')
    if passive not in (True, False, None):
        raise ValueError(f"passive={passive!r}: expected True, False or None.")
    if limits not in ("stop", "ignore", None):
        near = closest(limits, ("stop", "ignore")) if isinstance(limits, str) else ""
        near = f" {near}" if near.startswith("Did") else ""  # the others are named already
        raise ValueError(f'limits={limits!r:.60}: expected "stop" or "ignore".{near}')
    if actuators not in (True, False):
        raise ValueError(f"actuators={actuators!r:.60}: expected True or False.")
    text = _text(path)
    kind = _kind(path, text)
    if kind == "toml":
        from .npz import arrays_beside
        from .toml import read_toml

        if floating:
            raise ValueError("floating applies to URDF files; in TOML, give the root body a free joint.")
        if passive is not None:
            raise ValueError("passive applies to URDF and MJCF files; in TOML, each joint says it: passive = false.")
        if not actuators:
            raise ValueError("actuators applies to URDF and MJCF files; in TOML, remove the [[actuator]] tables.")
        return read_toml(text, source=str(path), limits=limits, arrays=arrays_beside(path))
    if kind == "mjcf":
        from .mjcf import read_mjcf

        if floating:
            raise ValueError("floating applies to URDF files; in MJCF, give the root body a freejoint.")
        acts = limits or "stop"
        return read_mjcf(
            text, source=str(path), folder=path.parent, limits=acts, passive=passive is not False, actuators=actuators
        )
    from .urdf import read_urdf

    turn = "quaternion" if floating is True else floating
    acts = limits or "stop"
    return read_urdf(
        text, source=str(path), floating=turn or None, passive=bool(passive), limits=acts, actuators=actuators
    )


def _text(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():
            what = "a folder" if path.is_dir() else "no regular file"
            raise ModelError([f"this is {what}, expected a URDF, MJCF or TOML file."], str(path))
        if path.stat().st_size > LARGEST:
            raise ModelError([f"the file has {path.stat().st_size:,} bytes, expected at most {LARGEST:,}."], str(path))
        raw = path.read_bytes()
    except FileNotFoundError:
        raise ModelError(["there is no such file."], str(path)) from None
    except (OSError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(
            [f"the file cannot be read: {getattr(error, 'strerror', None) or error}."], str(path)
        ) from None
    if not raw.strip():
        raise ModelError(["the file is empty, expected URDF, MJCF or TOML."], str(path))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ModelError(["the file is not text (UTF-8), expected URDF, MJCF or TOML."], str(path)) from None
    if "\0" in text:
        raise ModelError(["the file is binary, expected URDF, MJCF or TOML."], str(path))
    return text


def _kind(path: Path, text: str) -> str:
    """Tell the format by its content, so that any file name will do."""
    if path.suffix.lower() == ".toml" or not text.lstrip().startswith("<"):
        return "toml"
    at = text.find("<")
    while text.startswith(("<!", "<?"), at):
        end = text.find("-->" if text.startswith("<!--", at) else ">", at)
        at = text.find("<", end) if end >= 0 else -1
        if at < 0:
            return "urdf"
    return "mjcf" if text[at + 1 : at + 16].startswith("mujoco") else "urdf"
