"""The live page in a notebook: one server for each machine, who may frame it, and what is left when it is gone."""

import base64
import http.client
import io
import json
import re
import sys
from html import unescape

import numpy as np
import pytest

import polhode as ph
from polhode.interact import Inline, show
from polhode.interact import notebook as inline

websockets = pytest.importorskip("websockets", reason="websockets is not installed: the live page is not tested")
from websockets.exceptions import InvalidStatus  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

from tests.live import loop, server  # noqa: E402


@pytest.fixture
def machine(tmp_path):
    made = loop(tmp_path, [0.6, 0.4])
    yield made
    made.stop()


def get(url, **headers):
    host, path = re.fullmatch(r"http://([^/]*)(/.*)", url).groups()
    asked = http.client.HTTPConnection(host, timeout=20)
    asked.request("GET", path, headers=headers)
    found = asked.getresponse()
    found.read()
    return found.status, found.headers


def test_a_machine_has_one_page_which_ends_with_it(machine):
    page = show(machine)
    assert isinstance(page, Inline)
    assert page.open
    assert show(machine, height=300) is page
    shown = machine._repr_html_()
    assert unescape(re.search('iframe src="([^"]*)"', shown)[1]) == page.url
    assert "height:300px" in shown
    assert get(page.url)[0] == 200
    machine.step(5)
    machine.reset()
    assert page.open  # a reset is no end
    machine.stop()
    assert not page.open
    assert "closed" in repr(page)
    with pytest.raises(ConnectionRefusedError):
        get(page.url)
    again = show(machine)
    assert again is not page
    assert get(again.url)[0] == 200
    again.close()
    machine.step()  # it goes on without its page
    assert machine._page is None
    assert not again.open


def test_only_pages_of_this_computer_may_frame_it_and_only_with_the_token(machine, tmp_path):
    page = show(machine)
    status, headers = get(page.url)
    policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert status == 200
    assert policy["default-src"] == "'none'"
    assert policy["font-src"] == "'self'"
    assert set(policy["frame-ancestors"].split()) == {
        "'self'", "http://127.0.0.1:*", "http://localhost:*", "https://127.0.0.1:*", "https://localhost:*",
        "vscode-webview:",
    }  # fmt: skip
    at = page.url.partition("?")[0]
    assert get(at)[0] == get(f"{at}?token=wrong")[0] == 403
    socket = page.url.replace("http", "ws").replace("/?", "/socket?")
    for where, origin in (
        (socket, "http://127.0.0.1:8888"),  # of the notebook itself
        (socket, "http://evil.example"),
        (socket.partition("?")[0], at.rstrip("/")),
    ):
        with pytest.raises(InvalidStatus, match="403"), connect(where, origin=origin, proxy=None):
            pass
    with connect(socket, origin=at.rstrip("/"), proxy=None, max_size=None) as made:
        assert json.loads(made.recv())["scene"]["title"] == "braked pendulum"
    with server(tmp_path) as plain:  # of `polhode view`: no other page frames it
        assert get(plain.url)[1]["Content-Security-Policy"].endswith("frame-ancestors 'self'")
        assert not plain.token


def test_tokens_differ(machine, tmp_path):
    with server(tmp_path, framed=True) as other:
        assert len(other.token) > 20
        assert show(machine).url.rpartition("=")[2] != other.token


def test_what_is_left_is_a_picture_of_the_machine(machine):
    """The lower bar is drawn where the machine is: more of its colour on the side that it leans to."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: no picture is tested")
    from matplotlib import image

    shown = show(machine)._repr_html_()
    data = base64.b64decode(re.search('base64,([^"]*)', shown)[1])
    seen = image.imread(io.BytesIO(data), format="jpg") / 255.0
    orange = np.abs(seen - np.array([0xE0, 0x87, 0x3E]) / 255).sum(axis=2) < 0.3
    blue = np.abs(seen - np.array([0x48, 0x78, 0xB0]) / 255).sum(axis=2) < 0.3
    assert blue.sum() > 100
    assert np.argwhere(orange)[:, 0].mean() > np.argwhere(blue)[:, 0].mean() + 50  # below
    assert len(shown) < 200_000
    assert "ssh -L" in shown
    assert f"127.0.0.1:{show(machine).port}" in shown


def test_names_of_a_model_are_no_html():
    build = ph.Builder("<script>alert(1)</script>")
    build.body("bob", joint=ph.revolute("y", name="a"), mass=1, com=(0, 0, -1))
    machine = ph.realtime(ph.formulate(build.build()).compile(), record=False)
    try:
        assert "<script>alert" not in show(machine)._repr_html_()
    finally:
        machine.stop()


def test_without_websockets_a_machine_is_text(machine, monkeypatch):
    monkeypatch.setitem(sys.modules, "websockets.exceptions", None)
    assert machine._repr_html_() is None
    assert "paused" in repr(machine)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "polhode\[view\]"'):
        show(machine)


def test_what_cannot_be_shown_is_refused(machine):
    with pytest.raises(TypeError, match=r"found Dynamics of 'braked.*Give ph.realtime\(dynamics\)"):
        show(machine.dynamics)
    with pytest.raises(ValueError, match="height is 'big', expected whole pixels"):
        show(machine, height="big")


def test_other_reprs_are_as_they_were(machine):
    """Of what has no page: text, as notebooks show it."""
    run = ph.Simulation(machine.dynamics)
    assert repr(run).startswith("Simulation of 'braked pendulum'")
    assert not hasattr(run, "_repr_html_")
    found = ph.simulate(machine.dynamics, t_end=0.1)
    assert repr(found).startswith("Trajectory of 'braked pendulum'")
    assert inline.HERE in show(machine)._repr_html_()
