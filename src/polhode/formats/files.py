"""`load`: a model from a file, by what the file is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path

from polhode.model import Model, ModelError
from polhode.model.errors import closest

LARGEST = 64 * 2**20  # bytes; no description of a mechanism is larger


def load(
    path: str | Path, *, floating: bool | str | None = None, passive: bool | None = None, limits: str | None = None,
    actuators: bool = True, packages: Iterable[str | Path] = (), model: str | None = None,
    xacro: Mapping[str, object] | None = None,
) -> Model:  # fmt: skip
    """Read a model from a URDF, SDFormat, MJCF or TOML file; a .xacro is expanded first.

    floating : give the root of a URDF six degrees of freedom; True or
               "quaternion" for a unit quaternion, "angles" for three angles. In SDFormat
               what no joint ties to the world moves freely; False fixes it.
    passive  : whether springs, dampers and friction of the file's joints act.
               None follows the custom of the format: they act in MJCF and SDFormat, and are
               only kept in URDF, where they are often placeholders. In TOML each
               joint says it for itself.
    limits   : "stop" where limits of joints are stops in simulations, "ignore" where they
               are only kept. None is "stop", or what a TOML file says.
    actuators : False leaves out the actuators of MJCF and the transmissions of URDF, with their controls
    packages : folders in which packages of URDF and models of SDFormat lie, for meshes; before those around the file,
               and those of the environment variables ROS_PACKAGE_PATH, GZ_SIM_RESOURCE_PATH and GAZEBO_MODEL_PATH
    model    : which model of an SDFormat file with several
    xacro    : arguments of a .xacro by their names, {"arm": "left"}

    Every fault of a file is reported at once, as one ModelError.
    """
    if not isinstance(path, (str, Path)):
        raise TypeError(f"load takes the path of a file, found {path!r:.60}.")
    path = Path(path)
    if floating not in (True, False, None, "quaternion", "angles"):
        raise ValueError(f'floating={floating!r}: expected True, False, "quaternion" or "angles".')
    if passive not in (True, False, None):
        raise ValueError(f"passive={passive!r}: expected True, False or None.")
    if limits not in ("stop", "ignore", None):
        near = closest(limits, ("stop", "ignore")) if isinstance(limits, str) else ""
        near = f" {near}" if near.startswith("Did") else ""  # the others are named already
        raise ValueError(f'limits={limits!r:.60}: expected "stop" or "ignore".{near}')
    if actuators not in (True, False):
        raise ValueError(f"actuators={actuators!r:.60}: expected True or False.")
    if path.suffix.lower() == ".xacro":
        from .xacro import expanded

        _text(path)  # with its faults
        text = expanded(path, xacro or {})
    else:
        text = _text(path)
        if xacro is not None:
            raise ValueError("xacro applies to files that end in .xacro: it has their arguments.")
    kind = _kind(path, text)
    if model is not None and kind != "sdf":
        raise ValueError("model applies to SDFormat files: it names one of several models.")
    if kind == "toml":
        from .meshes import beside
        from .npz import arrays_beside
        from .toml import read_toml

        if floating:
            raise ValueError("floating applies to URDF files; in TOML, give the root body a free joint.")
        if passive is not None:
            raise ValueError("passive applies to URDF and MJCF files; in TOML, each joint says it: passive = false.")
        if not actuators:
            raise ValueError("actuators applies to URDF and MJCF files; in TOML, remove the [[actuator]] tables.")
        return read_toml(text, source=str(path), limits=limits, arrays=arrays_beside(path), surface=beside(path))
    if kind == "mjcf":
        from .mjcf import read_mjcf

        if floating:
            raise ValueError("floating applies to URDF files; in MJCF, give the root body a freejoint.")
        acts = limits or "stop"
        return read_mjcf(
            text, source=str(path), folder=path.parent, limits=acts, passive=passive is not False, actuators=actuators,
            beyond=True,
        )  # fmt: skip
    from .urdf_places import Places

    turn = "quaternion" if floating is True else floating
    acts = limits or "stop"
    if kind == "sdf":
        from .sdf import read_sdf

        free = "quaternion" if turn is None else turn or None
        return read_sdf(
            text, source=str(path), floating=free, passive=passive is not False, limits=acts, model=model,
            places=Places(path, packages),
        )  # fmt: skip
    from .urdf import read_urdf

    return read_urdf(
        text, source=str(path), floating=turn or None, passive=bool(passive), limits=acts, actuators=actuators,
        places=Places(path, packages),
    )  # fmt: skip


_MODELS = (".toml", ".urdf", ".xml", ".mjcf", ".sdf", ".xacro")  # whose endings are misspelt, too


def _meant(path: Path) -> str:
    """A remedy for the name of a file that does not exist, if there is one like it beside it."""
    try:
        beside = [each.name for each in path.parent.iterdir() if each.suffix in {path.suffix, *_MODELS}]
    except OSError:
        return ""
    close = get_close_matches(path.name, beside, 1)
    return f" Did you mean {str(path.with_name(close[0]))!r}?" if close else ""


def _text(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():
            what = "a folder" if path.is_dir() else "no regular file"
            raise ModelError([f"this is {what}, expected a URDF, SDFormat, MJCF or TOML file."], str(path))
        if path.suffix == ".py" and path.is_file():
            said = (
                "this is a program in Python, expected a URDF, SDFormat, MJCF or TOML file. Have it write its model: "
            )
            raise ModelError([said + 'ph.save(model, "NAME.toml").'], str(path))
        if path.stat().st_size > LARGEST:
            raise ModelError([f"the file has {path.stat().st_size:,} bytes, expected at most {LARGEST:,}."], str(path))
        raw = path.read_bytes()
    except FileNotFoundError:
        raise ModelError([f"there is no such file.{_meant(path)}"], str(path)) from None
    except (OSError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(
            [f"the file cannot be read: {getattr(error, 'strerror', None) or error}."], str(path)
        ) from None
    if not raw.strip():
        raise ModelError(["the file is empty, expected URDF, SDFormat, MJCF or TOML."], str(path))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ModelError(["the file is not text (UTF-8), expected URDF, SDFormat, MJCF or TOML."], str(path)) from None
    if "\0" in text:
        raise ModelError(["the file is binary, expected URDF, SDFormat, MJCF or TOML."], str(path))
    return text


_XML = (".urdf", ".xml", ".mjcf", ".sdf", ".world")


def _kind(path: Path, text: str) -> str:
    """Tell the format by its content, so that any file name will do."""
    if path.suffix.lower() in _XML and not text.lstrip().startswith("<"):
        begun = text.strip()[:20]
        raise ModelError([f"this is no XML: it begins with {begun!r}, expected <robot>, <mujoco> or <sdf>."], str(path))
    if path.suffix.lower() == ".toml" or not text.lstrip().startswith("<"):
        return "toml"
    at = text.find("<")
    while text.startswith(("<!", "<?"), at):
        end = text.find("-->" if text.startswith("<!--", at) else ">", at)
        at = text.find("<", end) if end >= 0 else -1
        if at < 0:
            return "urdf"
    first = text[at + 1 : at + 16]
    return "mjcf" if first.startswith("mujoco") else "sdf" if first.startswith("sdf") else "urdf"
