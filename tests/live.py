"""A machine for the live page, and its server."""

import shutil

from polhode.equations import formulate
from polhode.formats import load
from polhode.interact import Server, realtime

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FOUND = next(filter(None, map(shutil.which, BROWSERS)), None)  # the browser, if there is one
PENDULUM = """
name = "braked pendulum"
gravity = [0, 0, -9.81]

[[body]]
name = "upper"
parent = "world"
mass = 1.0
com = [0, 0, -0.5]
inertia = [0.083, 0.083, 0.001]
joint = { type = "revolute", axis = "y", name = "shoulder", damping = 0.5 }

[[body]]
name = "lower"
parent = "upper"
at = [0, 0, -1]
mass = 1.0
com = [0, 0, -0.4]
inertia = [0.05, 0.05, 0.001]
joint = { type = "revolute", axis = "y", name = "elbow", damping = 0.5 }

[[marker]]
name = "tip"
body = "lower"
at = [0, 0, -0.8]

[[lock]]
name = "brake"
joint = "elbow"
active = false
"""


def pendulum(folder):
    """The path of its file."""
    path = folder / "pendulum.toml"
    path.write_text(PENDULUM)
    return path


def loop(folder, q0=None):
    return realtime(formulate(load(pendulum(folder))).compile(), q0)


def server(folder, q0=None, **options):
    return Server(loop(folder, q0), **options)
