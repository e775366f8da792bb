"""Shared by all tests: a cache folder of their own, and the three targets."""

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "polhode", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("polhode")


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLHODE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(params=["llvm", "c", "numpy"])
def target(request):
    return request.param
