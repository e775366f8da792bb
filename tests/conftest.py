"""Shared by all tests: a cache folder of their own, the three targets, a keyboard that is heard, what comes first."""

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
    """A folder that is new, and that all workers of a run have together."""
    root = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLHODE_CACHE_DIR", str((root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / "cache"))
        yield


LONG = ("test_examples.py", "test_shipped.py", "flexible.md", "test_notebooks.py", "test_torture.py")


def pytest_collection_modifyitems(items):
    """Begin with what takes longest, so that no worker waits for another in the end."""
    items.sort(key=lambda item: item.path.name not in LONG)


@pytest.fixture(params=["llvm", "c", "numpy"])
def target(request):
    return request.param


@pytest.fixture
def keyboard():
    """Let Ctrl-C raise KeyboardInterrupt, also where the tests run under nohup and would not hear it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
