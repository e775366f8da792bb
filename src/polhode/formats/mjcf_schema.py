"""What MJCF knows: a misspelt element or attribute is a fault, as it is in MuJoCo."""

from __future__ import annotations

from polhode.model import Faults
from polhode.model.errors import closest

from .mjcf_text import ORIENTATIONS, REFUSED
from .xml import Element, Unknown

_SECTIONS = """compiler option size statistic visual default extension asset worldbody deformable contact tendon
    equality actuator sensor keyframe custom""".split()
_DEFAULTS = """default mesh texture material joint geom site camera light pair equality tendon general motor position
    velocity intvelocity orientation pid damper cylinder muscle adhesion dcmotor""".split()
_EQUALITIES = "connect weld joint tendon flex flexvert flexstrain distance".split()
_PLACE = ("pos", *ORIENTATIONS)
_PLAIN = {  # MuJoCo 4.0, mj_printSchema; after "|" what earlier versions knew
    "mujoco": "model",
    "compiler": """alignfree angle assetdir autolimits balanceinertia boundinertia boundmass conflict coordinate
        discardvisual eulerseq fitaabb fusestatic inertiafromgeom inertiagrouprange meshdir passthrough savecanonical
        savecompiled saveinertial settotalmass strippath texturedir usethread | convexhull exactmeshinertia""",
    "option": """actuatorgroupdisable ccd_iterations ccd_tolerance cone density gravity impratio integrator iterations
        jacobian ls_iterations ls_tolerance magnetic noslip_iterations noslip_tolerance o_friction o_margin o_solimp
        o_solref sdf_initpoints sdf_iterations sleep_tolerance solver timestep tolerance viscosity wind
        | apirate collision mpr_iterations mpr_tolerance""",
    "flag": """actuation autoreset clampctrl constraint contact damper diagexact energy equality eulerdamp filterparent
        frictionloss fwdinv gravity invdiscrete ipc island limit midphase multiccd nativeccd override refsafe sensor
        sleep speculative spring warmstart | passive sensornoise""",
    "default": "class",
    "worldbody": "childclass",
    "body": "childclass fuse gravcomp mocap name simple sleep user",
    "frame": "childclass class name",
    "inertial": "diaginertia fullinertia mass",
    "joint": """actuatorfrclimited actuatorfrcrange actuatorgravcomp armature axis class damping frictionloss group
        limited margin name pos range ref solimpfriction solimplimit solreffriction solreflimit springdamper springref
        springyield stiffness type user""",
    "freejoint": "align group name",
    "geom": """adhesion castshadow class conaffinity condim contype density fitscale fluidcoef fluidshape friction
        fromto gap group hfield margin mass material mesh name priority rgba shellinertia size solimp solmix solref
        surfacevel type user""",
    "site": "class fromto group material mesh name rgba size type user",
    "connect": "active anchor body1 body2 class name site1 site2 solimp solref",
    "weld": "active anchor body1 body2 class name relpose site1 site2 solimp solref torquescale",
    "tendon": "active class name polycoef solimp solref tendon1 tendon2",  # <equality> <tendon>
    "key": "act ctrl mpos mquat name qpos qvel time",
    "equality": "active class joint1 joint2 name polycoef solimp solref",  # <equality> <joint>
}
_DRIVEN = """armature class cranklength cranksite ctrllimited ctrlrange damping delay forcelimited forcerange gear group
    interp joint jointinparent lengthrange name nsample refsite site slidersite tendon user"""
_OWN = {  # of each actuator
    "general": """actdim actearly actlimited actrange biasprm biastype body dynprm dyntype ffrange gainprm gaintype
        inheritrange input velrange""",
    "motor": "",
    "position": "dampratio inheritrange kp kv timeconst",
    "velocity": "kv",
    "intvelocity": "actlimited actrange dampratio inheritrange kp kv",
    "damper": "kv",
    "cylinder": "area bias diameter timeconst",
    "muscle": "force fpmax fvmax lmax lmin range scale tausmooth timeconst vmax",
}
_TENDON = """actuatorfrclimited actuatorfrcrange armature class damping frictionloss group limited margin material name
    range rgba solimpfriction solimplimit solreffriction solreflimit springlength springyield stiffness user width"""
_IN_TENDON: dict[str, dict[str, tuple[str, ...]]] = {
    "fixed": {"joint": ("coef", "joint")},
    "spatial": {"site": ("site",), "geom": ("geom", "sidesite"), "pulley": ("divisor",)},
}
_PLACED = ("body", "frame", "inertial", "geom", "site")
ATTRIBUTES = {
    tag: tuple(sorted({*text.replace("|", " ").split(), *(_PLACE if tag in _PLACED else ())}))
    for tag, text in _PLAIN.items()
}
_NOT_AT_SITES = ("muscle",)
ACTUATOR = {
    tag: tuple(sorted({*_DRIVEN.split(), *own.split()} - ({"site", "refsite"} if tag in _NOT_AT_SITES else set())))
    for tag, own in _OWN.items()
}
_NOT_READ = ("orientation", "pid", "adhesion", "dcmotor", "plugin")  # actuators


def check_elements(root: Element, faults: Faults) -> None:
    """Find sections, default entries and attributes that MJCF does not know, where they could change the motion."""
    unknown = Unknown()
    _check(root, unknown)
    for section in root.children:
        if section.tag in ("compiler", "option"):
            _check(section, unknown)
            for flag in section.all("flag"):
                _check(flag, unknown)
        elif section.tag == "default":
            _check_defaults(section, unknown, faults)
        elif section.tag == "worldbody":
            _check_bodies(section, unknown)
        elif section.tag == "equality":
            _check_equalities(section, unknown, faults)
        elif section.tag == "keyframe":
            for key in section.children:
                if key.tag == "key":
                    _check(key, unknown)
                else:
                    _add_unknown(key, "<keyframe>", ["key"], faults)
        elif section.tag in ("actuator", "tendon"):
            _check_drives(section, unknown, faults)
        elif section.tag not in _SECTIONS:
            _add_unknown(section, "Model", _SECTIONS, faults)
    unknown.report(faults)


def _check(element: Element, unknown: Unknown) -> None:
    name = element.get("name")
    what = f"{element.tag.capitalize()} {name!r:.60}" if name else f"<{element.tag}>"
    unknown.check(element, ATTRIBUTES[element.tag], what)


def _add_unknown(element: Element, what: str, known: list[str], faults: Faults) -> None:
    remedy = closest(element.tag[:40], known)
    faults.add(f"{what}: unknown element <{element.tag:.40}> on line {element.line}. {remedy}")


def _check_equalities(section: Element, unknown: Unknown, faults: Faults) -> None:
    for element in section.children:
        if element.tag not in _EQUALITIES:
            _add_unknown(element, "<equality>", _EQUALITIES, faults)
        elif element.tag in ("connect", "weld", "joint", "tendon"):
            known = ATTRIBUTES["equality" if element.tag == "joint" else element.tag]
            unknown.check(element, known, f"<equality> <{element.tag}>")


def _check_drives(section: Element, unknown: Unknown, faults: Faults) -> None:
    """Check the actuators or tendons of a section."""
    known = [*ACTUATOR, *_NOT_READ] if section.tag == "actuator" else ["fixed", "spatial"]
    for element in section.children:
        if element.tag not in known:
            _add_unknown(element, f"<{section.tag}>", known, faults)
        elif element.tag not in _NOT_READ:
            attributes = ACTUATOR.get(element.tag) or _TENDON.split()
            unknown.check(element, attributes, f"<{section.tag}> <{element.tag}>")
        for inside in element.children if section.tag == "tendon" else ():
            parts = _IN_TENDON.get(element.tag, {})
            if inside.tag in parts:
                unknown.check(inside, parts[inside.tag], f"<{element.tag}> <{inside.tag}>")
            else:
                _add_unknown(inside, f"<{element.tag}>", list(parts), faults)


def _check_defaults(top: Element, unknown: Unknown, faults: Faults) -> None:
    waiting = [top]
    while waiting:
        element = waiting.pop()
        _check(element, unknown)
        for entry in element.children:
            if entry.tag == "default":
                waiting.append(entry)
            elif entry.tag not in _DEFAULTS:
                _add_unknown(entry, "<default>", _DEFAULTS, faults)
            elif entry.tag in ("joint", "geom", "site"):
                known = [key for key in ATTRIBUTES[entry.tag] if key not in ("name", "class")]
                unknown.check(entry, known, f"<default> <{entry.tag}>")
            elif entry.tag in ACTUATOR:
                unknown.check(entry, ACTUATOR[entry.tag], f"<default> <{entry.tag}>")


def _check_bodies(top: Element, unknown: Unknown) -> None:
    """Check a tree of bodies, but not what only MuJoCo can expand: its <joint> and <geom> are others."""
    waiting = [top]
    while waiting:
        element = waiting.pop()
        if element.tag in ATTRIBUTES:
            _check(element, unknown)
        waiting += [child for child in reversed(element.children) if child.tag not in REFUSED]
