"""The walker of Nelson and Quinn, section 5, with motors whose rotors turn as fast as what they drive, as it is there.

The tree is that of `examples/walker.py`.
"""

from walker import LEGS, WAYS, frames


def bare():
    """The tree: 23 speeds."""
    return frames()


def walker():
    """The same with its five motors: 11 degrees of freedom."""
    build = frames()
    build.motor("B", inertia=0.02, on="top").drives({"body": 1})
    for frame, legs in LEGS.items():
        femurs = {f"femur_{k}": way for k, way in zip(legs, WAYS, strict=True)}
        build.motor(f"F_{frame}", inertia=0.02, on=frame, axis="y").drives(femurs)
        build.motor(f"T_{frame}", inertia=0.02, on=frame, axis="y", cable=True).drives({f"tibia_{k}": 1 for k in legs})
    return build.build()
