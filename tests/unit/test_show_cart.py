"""The end of `make demo`, where there is no display and where there is one."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "tools" / "show_cart.py"


def script():
    spec = importlib.util.spec_from_file_location("show_cart", SCRIPT)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_without_a_display_it_says_where_the_page_is_or_why_there_is_none():
    bare = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")} | {"SSH_CONNECTION": "1"}
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, env=bare, check=False)
    assert done.returncode == 0, done.stderr
    assert "There is no display here" in done.stdout
    if "cannot be written" not in done.stdout:
        path = Path(done.stdout.split("Open ")[1].split(" in a browser")[0])
        assert "<html" in path.read_text(encoding="utf-8")


def test_with_a_display_it_opens_the_live_page(monkeypatch):
    found, asked = script(), []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    monkeypatch.setattr(
        found.subprocess, "run", lambda words, **_: asked.append(words) or subprocess.CompletedProcess(words, 0)
    )
    assert found.main() == 0
    assert [words[3] for words in asked] == ["view"]
    assert asked[0][4] == str(found.CART)
    assert found.CART.exists()
