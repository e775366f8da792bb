"""SDFormat: the models of Gazebo and Drake, versions 1.4 to 1.11.

With all coordinates 0 a model is where the file has it. What no joint ties to the world moves freely.
"""

from __future__ import annotations

from dataclasses import replace

from polhode.graph import Matrix, as_expr, zeros
from polhode.model import WORLD, Builder, Faults, Joint, Model, ModelError, free, values, weld
from polhode.model.builder import GRAVITY
from polhode.model.errors import closest, listed
from polhode.spatial import Inertia, Pose

from .sdf_frames import Frames, Key, between, shown
from .sdf_joints import LOOPS, PLANAR, SINGLE, ReadJoint, axes_of, couple, make_joint, read_joint
from .sdf_looks import add_looks
from .sdf_schema import check_elements, check_root
from .sdf_scope import Content, collect
from .sdf_text import read_number, read_numbers, read_pose, text_of
from .sdf_tree import GROUND, Step, Tree, tree_of
from .urdf_places import Places
from .variables import separate_names
from .xml import Element, Number, parse

_WORLD_GRAVITY = (0, 0, -9.8)  # SDFormat's, where a world has none


def read_sdf(
    text: str, *, source: str = "", floating: str | None = "quaternion", passive: bool = True, limits: str = "stop",
    model: str | None = None, places: Places | None = None,
) -> Model:  # fmt: skip
    """Read a model from the text of an SDFormat file.

    floating : how links move that nothing ties to the world: "quaternion", "angles", or None, which fixes them
    passive  : whether damping, springs and dry friction of the joints act, or are only kept
    limits   : "stop" where limits are stops in simulations, "ignore" where they are only kept
    model    : which of several in the file
    places   : finds the files of meshes; None for the current folder

    Inertias are taken literally; the report lists those that no body has, and the parts of the file that were not
    read. Links on fixed joints become part of what carries them and stay as markers.
    """
    root = parse(text, source)
    faults = Faults(source)
    check_root(root, faults)
    chosen, gravity, notes = _choose(root, model, source, faults)
    notes += check_elements(chosen, faults)
    with faults.caught():
        reader = _Reader(chosen, gravity, floating, passive, limits, faults)
        reader.old = root.get("version") == "1.4"
        faults.raise_any()  # places that nothing has would be faults of everything
        reader.read_tree()
        separate_names(reader.builder)
        add_looks(reader.content.links, reader.names, reader.frames, places or Places(None), reader.builder)
        for note in notes:
            reader.builder.note(note)
        faults.raise_any()
        return reader.builder.build().merged()
    raise ModelError(faults.found, source)


def _choose(root: Element, wanted: str | None, source: str, faults: Faults) -> tuple[Element, object, list[str]]:
    """The model that is meant, gravity, and notes of what is beside it."""
    if root.tag != "sdf":
        raise ModelError([f"the root element is <{root.tag:.40}>, expected <sdf>."], source)
    worlds = root.all("world")
    models = [m for around in (root, *worlds) for m in around.all("model")]
    found = {m.get("name") or "model": m for m in models}
    if len(found) < len(models):
        faults.add(f"of {len(models)} models some have the same name; there are {listed(found)}. Rename all but one.")
    includes = [i for around in (root, *worlds) for i in around.all("include")]
    if not found:
        remedy = f" It includes {text_of(includes[0], 'uri')!r:.80}: load that file." if includes else ""
        raise ModelError([f"there is no model, expected <model> in <sdf> or in its <world>.{remedy}"], source)
    if wanted is None and len(found) > 1:
        first = next(iter(found))
        raise ModelError(
            [f"there are {len(found)} models, {listed(found)}, expected one. Say which: load(..., model={first!r})."],
            source,
        )
    if wanted is not None and wanted not in found:
        raise ModelError([f"there is no model {wanted!r:.60}. {closest(wanted, found)}"], source)
    name = next(iter(found)) if wanted is None else wanted
    element, notes = found[name], []
    if len(found) > 1:
        notes.append(f"Of {len(found)} models, {name!r} is read.")
    if includes:
        more = f" ({len(includes)} of them)" if len(includes) > 1 else ""
        notes.append(f"<include> beside the model is not read{more}.")
    gravity: object = GRAVITY
    for world in worlds:
        if element in world.children:
            gravity = read_numbers(world, "gravity", 3, "World", faults, _WORLD_GRAVITY)
            plugins = world.all("plugin", "joint", "frame")
            if plugins:
                tags = ", ".join(dict.fromkeys(f"<{p.tag}>" for p in plugins))
                notes.append(f"Of <world>, these are not read: {tags}.")
    return element, gravity, notes


class _Reader:
    """Fills a builder from a model of the file."""

    def __init__(
        self, model: Element, gravity: object, floating: str | None, passive: bool, limits: str, faults: Faults
    ) -> None:
        self.faults, self.floating, self.passive = faults, floating, passive
        self.builder = Builder(model.get("name") or "model", gravity=gravity, literal=True, limits=limits)
        self.frames = Frames(faults)
        self.content: Content = collect(model, self.frames, faults)
        self.names = {key: shown(key) for key in self.content.links} | {GROUND: WORLD}
        self.old = False

    def read_tree(self) -> None:
        """Place the links on a tree of joints, then close the loops."""
        found = [read_joint(e, key, self.frames, self.faults) for key, e in self.content.joints.items()]
        joints = [read for read in found if read is not None]
        for key in (*self.content.links, *self.content.joints, *self.content.frames):
            self.frames.place(key)
        if not self.content.links:
            self.faults.add("there are no links, expected at least one <link> in <model>.")
        self.faults.raise_any()
        moving = [j for j in joints if not {j.parent, j.child} <= self.content.still | {GROUND}]
        links = [key for key in self.content.links if key not in self.content.still]
        tree = tree_of(links, [self.grounded(joint) for joint in moving])
        self.note_masses(links)
        for key in (key for key in self.content.links if key in self.content.still):
            self.add(key, GROUND, weld(name=shown(key)))
        for step in tree.steps:
            with self.faults.caught():
                self.add_step(step)
        for joint in tree.loops:
            with self.faults.caught():
                self.close(joint)
        single = {s.joint.key: s.joint.name for s in tree.steps if s.joint and s.joint.kind in SINGLE}
        couple(joints, single, self.frames, self.builder, self.faults)
        self.add_frames()
        self.note_directions(tree)

    def grounded(self, joint: ReadJoint) -> ReadJoint:
        """The same joint with links of static models, which are the ground, as the world."""
        ends = [GROUND if key in self.content.still else key for key in (joint.parent, joint.child)]
        return replace(joint, parent=ends[0], child=ends[1])

    def add_step(self, step: Step) -> None:
        link, read = step.link, step.joint
        if read is None:
            made = weld(name=shown(link)) if self.floating is None else self.base(link)
            self.add(link, GROUND, made)
            return
        parent = read.child if step.against else read.parent
        X_WB, X_WJ = self.frames.place(link), self.frames.place(read.key)
        axes = axes_of(read, self.frames, self.old, self.faults)
        made = make_joint(read, X_WB, X_WJ, axes, step.against, self.passive, self.builder, self.faults)
        if read.kind not in ("ball", PLANAR) or X_WB == X_WJ:
            self.add(link, parent, made)
            return
        middle = f"{self.names[link]}/{read.name}"  # a body that has its origin in the joint
        X = between(self.frames.place(parent), X_WJ)
        self.builder.body(middle, joint=made, mass=0, parent=self.names[parent], at=X.p, rotation=X.R)
        self.add(link, None, weld(name=f"{middle} weld"), middle, between(X_WJ, X_WB))

    def base(self, link: Key) -> Joint:
        """The joint of what moves freely."""
        name = "base" if len(self.names) == 2 or link == next(iter(self.content.links)) else f"{self.names[link]}_base"
        while any(key[1] == name for key in self.content.joints):
            name += "_"
        return free(quaternion=self.floating == "quaternion", name=name)

    def add(self, link: Key, parent: Key | None, made: Joint, on: str = "", at: Pose | None = None) -> None:
        """Add the body of a link, on another link or on a body by its name."""
        X = at or between(self.frames.place(parent or GROUND), self.frames.place(link))
        m, com, I = self.mass(link)
        on = on or self.names[parent or GROUND]
        name = self.names[link]
        self.builder.body(name, joint=made, parent=on, at=X.p, rotation=X.R, mass=m, com=com, inertia=I)
        if (reason := values.unphysical(as_expr(m), I)) is not None:
            self.builder.note(f"Body {name!r}: {reason}.")

    def mass(self, link: Key) -> tuple[Number, Matrix, Matrix]:
        """Mass, centre of mass and inertia about it in the axes of the link."""
        element, what = self.content.links[link], f"Link {self.names[link]!r}: inertial"
        inertial = element.first("inertial")
        if inertial is None:
            return 1, zeros(3), values.inertia((1, 1, 1), what)
        if (inertial.get("auto") or "").lower() in ("true", "1"):
            self.faults.add(f"{what} is auto, which is not read. Give it <mass> and <inertia>.")
        m = read_number(inertial, "mass", what, self.faults, 1)
        if m < 0:
            self.faults.add(f"{what} mass is {m:g}, expected 0 or more.")
        six = inertial.first("inertia") or Element("inertia", {}, inertial.line)
        keys = (("ixx", 1), ("iyy", 1), ("izz", 1), ("ixy", 0), ("ixz", 0), ("iyz", 0))
        moments = [read_number(six, key, what, self.faults, usual) for key, usual in keys]
        X = read_pose(inertial, what, self.faults)
        turned = Inertia(as_expr(m), zeros(3), values.inertia(moments, what)).rotated(X.R)
        return m, X.p, turned.I

    def note_masses(self, links: list[Key]) -> None:
        bare = [self.names[key] for key in links if self.content.links[key].first("inertial") is None]
        if bare:
            which = "Links {} have" if len(bare) > 1 else "Link {} has"
            said = f"{which.format(listed(bare, most=3))} no <inertial>"
            self.builder.note(f"{said}{f' ({len(bare)} of them)' if len(bare) > 3 else ''}: SDFormat's 1 kg, 1 kg m^2.")
        weightless = [e for e in self.content.links.values() if text_of(e, "gravity").lower() in ("0", "false")]
        if weightless:
            self.builder.note(f"<gravity> of links is not read: {len(weightless)} that should feel none feel it.")

    def close(self, read: ReadJoint) -> None:
        """A joint that closes a loop holds two markers together; its laws are noted."""
        if read.kind not in LOOPS:
            self.faults.add(
                f"{read.what} is {read.kind} and closes a loop in which no joint is {', '.join(LOOPS)}. "
                "Cut the loop, or make one of its joints one of these."
            )
            return
        X_WJ = self.frames.place(read.key)
        ends = []
        for end in (read.parent, read.child):
            X = between(self.frames.place(end), X_WJ)
            marker = f"{read.name}/{self.names[end]}"
            self.builder.marker(marker, body=self.names[end], at=X.p, rotation=X.R)
            ends.append(marker)
        axes = axes_of(read, self.frames, self.old, self.faults)
        given = {"axis": list(values.settled(X_WJ.R.T @ axes[0]))} if axes else {}
        self.builder.loop(*ends, LOOPS[read.kind], name=read.name, **given)
        lost = [e for axis in read.element.all("axis") for e in axis.all("dynamics", "limit", "mimic")]
        if lost:
            tags = ", ".join(dict.fromkeys(f"<{e.tag}>" for e in lost))
            self.builder.note(f"{read.what} closes a loop: its {tags} are not read.")

    def add_frames(self) -> None:
        for key in self.content.frames:
            host = self.frames.host(key)
            if host is not None:
                X = between(self.frames.place(host), self.frames.place(key))
                self.builder.marker(shown(key), body=self.names[host], at=X.p, rotation=X.R)

    def note_directions(self, tree: Tree) -> None:
        """Say of balls and planes that go against the file that their coordinates are the other way round."""
        turned = [s.joint.name for s in tree.steps if s.against and s.joint and s.joint.kind in ("ball", PLANAR)]
        if turned:
            self.builder.note(f"Joints {listed(turned, most=3)}: coordinates are of the parent seen from the child.")
