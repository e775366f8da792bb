"""The end of `make demo`: the page of the shopping cart, or, without a display, a file that runs it in any browser."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CART = Path(__file__).parents[1] / "examples" / "cart.toml"


def main() -> int:
    return viewed() if has_display() else exported(Path(tempfile.mkdtemp(prefix="polhode-")) / "cart.html")


def has_display() -> bool:
    """Whether a browser can open a window here, for someone who sits before it."""
    if sys.platform.startswith("linux"):
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return not os.environ.get("SSH_CONNECTION")


def polhode(*words: str) -> list[str]:
    return [sys.executable, "-m", "polhode", *words]


def viewed() -> int:
    """Open the live page, until Ctrl-C."""
    print("The shopping cart: drag its basket, engage 'stuck caster', drag it again. Ctrl-C ends it.", flush=True)
    try:
        return subprocess.run(polhode("view", str(CART)), check=False).returncode
    except KeyboardInterrupt:
        return 0


def exported(path: Path) -> int:
    """Write the page that needs no server, and say where it is; or why it cannot be written."""
    done = subprocess.run(polhode("export", str(CART), "-o", str(path)), check=False, capture_output=True, text=True)
    if done.returncode == 0 and path.exists():
        print(f"There is no display here. Open {path} in a browser, and drag the shopping cart.")
    else:
        print("There is no display here, and the shopping cart cannot be written as a file that runs by itself:")
        print(f"  {(done.stderr or done.stdout).strip()}")
        print("With a display: polhode view examples/cart.toml")
    return 0 if "Traceback" not in done.stderr else done.returncode  # to refuse is no failure


if __name__ == "__main__":
    sys.exit(main())
