"""The machines of this folder, and of the examples, are imported by their names."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "examples")]
