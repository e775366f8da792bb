"""Tests use a cache of their own, and the same examples on every machine."""

import os
import tempfile

from hypothesis import HealthCheck, settings

os.environ["POLHODE_CACHE_DIR"] = tempfile.mkdtemp(prefix="polhode-test-")
settings.register_profile("ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci")
