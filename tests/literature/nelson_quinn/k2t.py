"""The eight-legged walker of Nelson and Quinn, section 5. Masses and lengths are ours: the paper has none.

Legs 1 to 4 are on the bottom frame, 5 to 8 on the top one, each front left, front right, rear left, rear right, so that
the printed D_F = (1, 1, -1, -1) fits.
"""

import polhode as ph

BOTTOM, TOP = range(1, 5), range(5, 9)
FRAME = {"mass": 2.5, "inertia": (0.020, 0.045, 0.060)}
HIPS = {"bottom": ((0.10, -0.18), 0.13, 0.0), "top": ((0.18, -0.10), 0.19, -0.05)}  # x, y, z in the frame


def rod(mass, long, radius, along, way=1):
    thick, slender = mass * radius**2 / 2, mass * (long**2 / 12 + radius**2 / 4)
    return {
        "mass": mass,
        "com": tuple(way * long / 2 * (a == along) for a in "xyz"),
        "inertia": tuple(thick if a == along else slender for a in "xyz"),
    }


def bare():
    """The tree: 23 speeds."""
    build = ph.Builder("walker")
    build.body("top", joint=ph.free(quaternion=False), **FRAME)
    build.body("bottom", parent="top", joint=ph.revolute("z", name="body"), at=(0, 0, -0.05), **FRAME)
    leg = 0
    for frame, (xs, y, z) in HIPS.items():
        for x, way in zip(xs, (1, -1), strict=True):
            for side in (1, -1):
                leg += 1
                femur, tibia = rod(0.12, 0.12, 0.012, "x", way), rod(0.10, 0.22, 0.010, "z", -1)
                build.body(f"femur_{leg}", parent=frame, joint=ph.revolute("y"), at=(x, side * y, z), **femur)
                at = (0.12 * way, 0, 0)
                build.body(f"tibia_{leg}", parent=f"femur_{leg}", joint=ph.revolute("y"), at=at, **tibia)
    return build


def walker():
    """The same with its five motors: 11 degrees of freedom."""
    build = bare()
    build.motor("B", inertia=0.02, on="top").drives({"body": 1})
    for frame, legs in (("bottom", BOTTOM), ("top", TOP)):
        femurs = {f"femur_{k}": way for k, way in zip(legs, (1, 1, -1, -1), strict=True)}
        build.motor(f"F_{frame}", inertia=0.02, on=frame, axis="y").drives(femurs)
        build.motor(f"T_{frame}", inertia=0.02, on=frame, axis="y", cable=True).drives({f"tibia_{k}": 1 for k in legs})
    return build.build()
