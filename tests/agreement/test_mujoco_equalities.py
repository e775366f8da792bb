"""Equalities of MJCF files against MuJoCo: the same states satisfy them, and they restrict the same speeds."""

import numpy as np
import pytest

import polhode as ph
from polhode.formats.mjcf import read_mjcf
from polhode.simulate import assemble
from tests.mechanics import At, close

mujoco = pytest.importorskip("mujoco", reason="NOT TESTED: the package mujoco is not installed")

HEAD = '<mujoco><compiler angle="radian"/><option jacobian="dense"/><default><geom size=".05"/></default><worldbody>'
FOUR_BAR = (
    HEAD
    + """
<body name="crank"><joint name="crank" axis="0 1 0"/><geom/>
 <body name="coupler" pos="1 0 0"><joint name="coupler" axis="0 1 0"/><geom/></body></body>
<body name="rocker" pos="2 0 0"><joint name="rocker" axis="0 1 0" ref=".3"/><geom/></body></worldbody>
<equality><connect body1="coupler" body2="rocker" anchor="1 0 0.5"/></equality></mujoco>"""
)
WELDS = (
    HEAD
    + """
<body name="arm" pos="0 0 1" euler=".3 .2 .1"><joint name="a1" axis="1 1 0" pos=".1 .2 0" ref=".2"/>
 <joint name="a2" type="slide" axis="0 0 1" ref=".1"/><geom/>
 <body name="hand" pos=".5 0 0" quat="1 2 3 4"><joint name="wrist" type="ball" pos="0 .1 0"/><geom/></body></body>
<body name="box" pos="1 1 1" euler="1 2 3"><freejoint/><geom/></body>
<body name="lid" pos="1 1 2"><freejoint/><geom/></body>
<body name="post" pos="3 0 0"><geom/></body></worldbody>
<equality><weld body1="hand" body2="box" relpose="0.1 0.2 0.3 1 1 0 0" anchor=".1 0 0"/>
<weld body1="box" body2="lid" anchor=".1 .2 .3" torquescale="2"/><connect body1="hand" body2="post" anchor=".1 0 0"/>
</equality></mujoco>"""
)
GEARS = (
    HEAD
    + """
<body name="a"><joint name="a" axis="0 0 1" ref=".2"/><geom pos=".1 0 0"/></body>
<body name="b"><joint name="b" axis="0 0 1" ref="-.1"/><geom pos=".1 0 0"/></body>
<body name="c"><joint name="c" type="slide" ref=".3"/><geom/></body>
<body name="d"><joint name="t" type="slide"/><geom/></body>
<body name="e"><joint name="e"/><geom/></body></worldbody>
<equality><joint joint1="a" joint2="b" polycoef=".1 -2 0 0 0"/><joint joint1="c" joint2="b" polycoef=".1 .2 .3 .4 .5"/>
<joint joint1="t" polycoef=".7"/><joint joint1="a" joint2="e" polycoef="0 .5 .1"/></equality></mujoco>"""
)
SITES = (
    HEAD
    + """
<site name="wall" pos="0 0 .8" euler=".1 0 0"/>
<body name="a"><joint name="a" type="ball"/><geom pos=".1 0 0"/><site name="s" pos="0 0 .5" euler="0 .4 0"/>
 <body name="b" pos="0 0 .5"><joint name="b" type="ball"/><geom/><site name="tip" pos="0 0 .5"/></body></body>
<body name="c" pos="1 0 0"><freejoint/><geom/><site name="d" pos=".1 .1 .1" euler="1 1 1"/></body></worldbody>
<equality><connect site1="tip" site2="wall"/><weld site1="d" site2="s"/></equality></mujoco>"""
)
TENDONS = (
    HEAD
    + """
<site name="wall" pos="0 .5 .8"/>
<body name="a"><joint name="a" axis="0 1 1" ref=".2"/><geom pos=".1 0 0"/><site name="s" pos="0 .2 .5"/>
 <body name="b" pos="0 0 .5"><joint name="b" type="ball"/><geom/><site name="tip" pos="0 .3 .5"/></body></body>
<body name="c" pos="1 0 0"><joint name="c" type="slide" ref=".3"/><geom/></body>
<body name="box" pos="1 1 1" euler="1 2 3"><freejoint/><geom/><site name="d" pos=".1 .1 .1"/></body></worldbody>
<tendon><fixed name="sum"><joint joint="a" coef="2"/><joint joint="c" coef="-.5"/></fixed>
<spatial name="cord"><site site="wall"/><site site="tip"/><site site="s"/></spatial>
<spatial name="leash"><site site="d"/><site site="tip"/></spatial></tendon>
<equality><tendon tendon1="sum" tendon2="cord" polycoef=".1 .5 .3 -.2 .1"/><tendon tendon1="leash" polycoef=".05"/>
</equality></mujoco>"""
)
MECHANISMS = {
    "tendons": (TENDONS, 2),
    "four-bar": (FOUR_BAR, 2),
    "welds": (WELDS, 15),
    "gears": (GEARS, 4),
    "sites": (SITES, 9),
}


def theirs(model, eq, q):
    """MuJoCo at our coordinates, and qvel = B u: a free joint has its position first and its velocity in the world."""
    data, B = mujoco.MjData(model), np.eye(model.nv)
    places = {str(s.value): k for k, s in enumerate(eq.q)}
    for j, (kind, at, dof) in enumerate(zip(model.jnt_type, model.jnt_qposadr, model.jnt_dofadr, strict=True)):
        body = eq.model.frame(model.body(model.jnt_bodyid[j]).name)[0]
        name = model.joint(j).name
        joint = next(b.joint for b in eq.model.bodies if b.joint.name == name or (not name and b.name == body))
        own = [q[places[c]] for c in joint.coordinates()]
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            data.qpos[at : at + 7] = [*own[4:], *own[:4]]
            R = np.zeros(9)
            mujoco.mju_quat2Mat(R, np.array(own[:4]))
            turned = np.block([[np.zeros((3, 3)), R.reshape(3, 3)], [np.eye(3), np.zeros((3, 3))]])
            B[dof : dof + 6, dof : dof + 6] = turned
        else:
            data.qpos[at : at + len(own)] = own
    mujoco.mj_forward(model, data)
    rows = data.efc_type[: data.nefc] == mujoco.mjtConstraint.mjCNSTR_EQUALITY
    return data.efc_J.reshape(-1, model.nv)[: data.nefc][rows] @ B, data.efc_pos[: data.nefc][rows]


def row_space(J):
    """The projection onto the rows, and how many of them are independent."""
    _, s, V = np.linalg.svd(J)
    rank = int((s > 1e-7 * s[0]).sum())
    return V[:rank].T @ V[:rank], rank


@pytest.mark.parametrize("seed", [1, 2])
def test_equalities_of_tendons_are_mujocos_off_their_states_too(seed):
    model = mujoco.MjModel.from_xml_string(TENDONS)
    eq = ph.formulate(read_mjcf(TENDONS))
    q = np.array(eq.model.neutral()) + np.random.default_rng(seed).normal(size=len(eq.q)) * 0.4
    turned = [i for i, s in enumerate(eq.q) if "_q" in str(s.value)]
    for four in np.reshape(turned, (-1, 4)):
        q[four] /= np.linalg.norm(q[four])
    at = At(eq, q, np.zeros(len(eq.u)))
    J, residual = theirs(model, eq, q)
    assert close(at(eq.constraints.phi), residual, 1e-12)
    assert close(at(eq.constraints.J), J, 1e-12)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_keyframes_are_the_states_of_mujoco(seed):
    draw = np.random.default_rng(seed)
    rows = {"qpos": draw.normal(size=13), "qvel": draw.normal(size=11), "ctrl": draw.normal(size=2)}
    key = " ".join(f'{name}="{" ".join(map(repr, row.tolist()))}"' for name, row in rows.items())
    drives = '<actuator><motor name="m" joint="c"/><position name="p" tendon="cord" kp="3"/></actuator>'
    text = TENDONS.replace("</mujoco>", f'{drives}<keyframe><key name="k" {key}/></keyframe></mujoco>')
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    mujoco.mj_forward(model, data)
    ours = read_mjcf(text)
    dyn, start = ph.formulate(ours).compile(), ours.keyframe("k").start()
    q, u = ([start[key][name] for name in names] for key, names in (("q0", ours.coordinates), ("u0", ours.speeds)))
    for body in ("a", "b", "box"):
        assert close(dyn.pose(body)(q)[:3, 3], data.body(body).xpos, 1e-12)
        velocity = np.zeros(6)
        place = model.body(body).id
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, place, velocity, 0)
        assert close(dyn.velocity(body)(q, u), velocity, 1e-12)
    assert list(start["controls"].values()) == data.ctrl.tolist()


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("seed", [1, 2])
def test_equalities_restrict_the_same_speeds_as_in_mujoco(name, seed):
    text, rank = MECHANISMS[name]
    model = mujoco.MjModel.from_xml_string(text)
    eq = ph.formulate(read_mjcf(text))
    guess = np.array(eq.model.neutral()) + np.random.default_rng(seed).normal(size=len(eq.q)) * 0.4
    q, u = assemble(eq.compile(), guess)
    found = At(eq, q, u)(eq.constraints.J)
    wanted, residual = theirs(model, eq, q)
    assert np.abs(residual).max() < 1e-9
    P, n = row_space(found)
    assert n == rank
    assert close(P, row_space(wanted)[0], 1e-8)
