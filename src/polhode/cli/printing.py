"""One JSON object for programs."""

from __future__ import annotations

import json
import math
from typing import Any


def print_json(data: Any) -> None:
    """Print data as JSON."""
    print(json.dumps(_finite(data), indent=2, ensure_ascii=False, allow_nan=False))


def _finite(data: Any) -> Any:
    """JSON has no NaN and no infinity: they become null."""
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
