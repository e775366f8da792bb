"""Shared by all tests: a cache folder of their own, the three targets, and a keyboard that is heard."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "polhode", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.register_profile("thorough", settings.get_profile("polhode"), max_examples=1000, derandomize=False)
settings.load_profile("thorough" if os.environ.get("POLHODE_THOROUGH") else "polhode")


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLHODE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(params=["llvm", "c", "numpy"])
def target(request):
    return request.param


@pytest.fixture
def keyboard():
    """Let Ctrl-C raise KeyboardInterrupt, also where the tests run under nohup and would not hear it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
