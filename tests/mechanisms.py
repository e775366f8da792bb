"""Published mechanisms with closed loops, built from bodies, joints and loops.

[González] is M. González, D. Dopico, U. Lugrís and J. Cuadrado, A benchmarking system
for MBS simulation software, Multibody System Dynamics 16 (2006), and the library of
problems A01 to A05 at lim.ii.udc.es/mbsbenchmark, now the IFToMM library.
"""

from math import pi

import polhode as ph

GRAVITY = (0, -9.81, 0)


def squeezer():
    """Andrews' squeezing mechanism: seven bodies in the plane, driven by a torque, held by a spring.

    Mazzia and Magherini, Test Set for IVP Solvers, problem "andrews"; Hairer and
    Wanner, Solving Ordinary Differential Equations II, section VII.7. Their angles are
    those of the joints here; the loops close at E, where K2, K3, K4 and K6 meet.
    """
    O, A, B, C = (0, 0), (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
    rr, d, ss, e, zt, zf, u = 0.007, 0.028, 0.035, 0.02, 0.04, 0.02, 0.04
    build = ph.Builder("squeezer", gravity=(0, 0, 0))

    def body(name, angle, mass, I, com, at=O, parent="world"):
        joint, flat = ph.revolute("z", name=angle), (I / 2, I / 2, I)
        build.body(name, parent=parent, joint=joint, at=(*at, 0), mass=mass, com=(*com, 0), inertia=flat)

    body("K1", "beta", 0.04325, 2.194e-6, (0.00092, 0))
    body("K2", "theta", 0.00365, 4.410e-7, (-0.0115, 0), (rr, 0), "K1")
    body("K3", "gamma", 0.02373, 5.255e-6, (0.01043, -0.01874), B)
    body("K5", "delta", 0.07050, 1.169e-5, (0.02308, 0.00916), A)
    body("K4", "phi", 0.00706, 5.667e-7, (0, 0.01421 - e), (zt, 0), "K5")
    body("K7", "epsilon", 0.05498, 1.912e-5, (0.00449, -0.01228), A)
    body("K6", "omega", 0.00706, 5.667e-7, (zf - 0.01421, 0), (0, -u), "K7")
    ends = {"K2": (-d, 0, 0), "K3": (0, -ss, 0), "K4": (0, -e, 0), "K6": (zf, 0, 0)}
    for name, at in ends.items():
        build.marker(f"E{name}", body=name, at=at)
    for name in ("K3", "K4", "K6"):
        build.loop(f"E{name}", "EK2", name=f"E {name}")
    build.marker("C", body="world", at=(*C, 0))
    build.marker("D", body="K3", at=(0.02, -0.018, 0))
    build.spring("C", "D", stiffness=4530, length=0.07785)
    build.force("beta_dot", 0.033)
    return build.build()


def windows(n):
    """Four-bar linkages side by side: rods of 1 m and 1 kg, n + 1 that stand and n that join their tops.

    [González, problem A02]; angles from upright, clockwise.
    """
    build = ph.Builder(f"{n} windows", gravity=GRAVITY)
    for i in range(n + 1):
        build.body(f"crank{i}", joint=ph.revolute((0, 0, -1)), at=(i, 0, 0), **rod("y"))
        build.marker(f"B{i}", body=f"crank{i}", at=(0, 1, 0))
    for i in range(n):
        build.body(f"coupler{i}", parent=f"crank{i}", joint=ph.revolute("z"), at=(0, 1, 0), **rod("x"))
        build.marker(f"end{i}", body=f"coupler{i}", at=(1, 0, 0))
        build.loop(f"B{i + 1}", f"end{i}", "axis", name=f"window {i}")
    return build.build()


def rod(along, width=0.0, sign=1):
    """Mass properties of a bar of 1 m and 1 kg from its origin along an axis, of a square section."""
    slender, thick = (1 + width**2) / 12, width**2 / 6
    return {
        "mass": 1,
        "com": tuple(sign * 0.5 * (a == along) for a in "xyz"),
        "inertia": tuple(thick if a == along else slender for a in "xyz"),
    }


def slider_crank():
    """The spatial slider-crank: crank about x, rod on a ball joint, slider along x on a universal joint.

    Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems (1989), section
    12.2; IFToMM library, "Spatial rigid slider-crank mechanism". The rod lies along its
    y axis and turns about the slider's x and its own z; the ball joint closes the loop.
    """
    build = ph.Builder("slider-crank")
    crank = {"mass": 0.12, "com": (0, 0, 0.04), "inertia": (1e-4, 1e-4, 1e-5)}
    rod = {"mass": 0.5, "com": (0, 0.15, 0), "inertia": (4e-3, 4e-4, 4e-3)}
    build.body("crank", joint=ph.revolute("x"), at=(0, 0.1, 0.12), **crank)
    build.body("slider", joint=ph.prismatic("x"), mass=2, inertia=(1e-4, 1e-4, 1e-4))
    build.body("rod", parent="slider", joint=ph.universal(("z", "x")), **rod)
    build.marker("pin", body="crank", at=(0, 0, 0.08))
    build.marker("tip", body="rod", at=(0, 0.3, 0))
    build.loop("pin", "tip")
    return build.build()


def governor(rigid):
    """Watt's governor: two arms with balls on a shaft, a slider on it, two couplers that are springs or rods.

    [González, problem A05], with the dimensions of L. Tagliapietra, M. Vivian, E. Ceseracciu
    and M. Reggiani, Multi-Body Systems Benchmark in OpenSim. An arm's angle is from straight up.
    """
    bar, block = 3000 * 1e-4, 3000 * 1e-3
    thick, long = bar * 2e-4 / 12, bar * (1 + 1e-4) / 12
    build = ph.Builder("governor")
    build.body("shaft", joint=ph.revolute("z"), mass=bar, com=(0, 0, 0.5), inertia=(long, long, thick))
    build.body("slider", parent="shaft", joint=ph.prismatic("z"), mass=block, inertia=[block * 0.02 / 12] * 3)
    for side, sign in (("right", 1), ("left", -1)):
        hinge = ph.revolute((0, sign, 0), name=side)
        arm = {"mass": bar, "com": (0, 0, 0.5), "inertia": (long, long, thick)}
        build.body(f"{side} arm", parent="shaft", joint=hinge, at=(0.05 * sign, 0, 1), **arm)
        build.body(f"{side} ball", parent=f"{side} arm", joint=ph.weld(), at=(0, 0, 1), mass=5)
        build.marker(f"{side} middle", body=f"{side} arm", at=(0, 0, 0.5))
        build.marker(f"{side} lug", body="slider", at=(0.05 * sign, 0, 0))
        if rigid:
            build.loop(f"{side} lug", f"{side} middle", "distance", length=0.5)
        else:
            build.spring(f"{side} lug", f"{side} middle", stiffness=8e5, length=0.5, damping=4e4)
    return build.build()


GOVERNOR = {"slider": 0.5, "right": 2 * pi / 3, "left": 2 * pi / 3}, {"shaft_dot": 2 * pi}


def bricard():
    """Bricard's mechanism: five bars of 1 m and 1 kg, 0.1 m square, between six hinges at right angles.

    [González, problem A04]; the bars begin along the edges of a cube.
    """
    build = ph.Builder("bricard", gravity=GRAVITY)
    edges = ("x", 1), ("y", -1), ("z", 1), ("x", -1), ("y", 1)  # where each bar points, and about which axis it turns
    at, parent = (0, 0, 0), "world"
    for k, ((along, sign), about) in enumerate(zip(edges, "yzxyz", strict=True), 1):
        build.body(f"bar{k}", parent=parent, joint=ph.revolute(about), at=at, **rod(along, 0.1, sign))
        at, parent = tuple(sign * (a == along) for a in "xyz"), f"bar{k}"
    build.marker("end", body="bar5", at=at)
    build.marker("base", body="world", at=(0, 0, 1))
    build.loop("base", "end", "hinge", axis="x")
    return build.build()


def four_bar(*laws):
    """Three rods of 1 m on a ground of 1.2 m, closed by a hinge of five rows; laws prescribe the crank."""
    build = ph.Builder("four-bar")
    build.body("crank", joint=ph.revolute("y", name="a"), **rod("x"))
    build.body("rod", parent="crank", at=(1, 0, 0), joint=ph.revolute("y", name="b"), **rod("x"))
    build.body("rocker", at=(1.2, 0, 0), joint=ph.revolute("y", name="c"), **rod("x"))
    build.marker("tip", body="rod", at=(1, 0, 0))
    build.marker("top", body="rocker", at=(1, 0, 0))
    build.loop("top", "tip", "hinge", axis="y", name="close")
    for law in laws:
        build.prescribe("a", law, name="drive")
    return build.build()
