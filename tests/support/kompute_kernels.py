"""Runtimes for the tests of the runtime on kp."""

import os
import sys
import textwrap

import pytest
from support.process import captured
from support.vulkan_kernels import modules

from restride.errors import DeviceNotFound, UnsupportedError
from restride.runtime import choose, list_devices
from restride.runtime.kompute import device as kompute_device
from restride.runtime.kompute.runtime import KomputeRuntime


@pytest.fixture(scope="module")
def device():
    try:
        kompute_device.load_kp()
        return choose(list_devices())
    except (UnsupportedError, DeviceNotFound) as error:
        pytest.skip(f"kompute cannot run here: {error}")


@pytest.fixture
def make(device, modules):
    made = []

    def make_runtime(**options):
        made.append(KomputeRuntime(device, **{"module_source": modules} | options))
        return made[-1]

    yield make_runtime
    for runtime in made:
        runtime.close()


@pytest.fixture(params=[True, False], ids=["in_place", "staged"])
def runtime(make, request):
    return make(in_place=request.param)


def run_python(script, **environment):
    return captured(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)], env=os.environ | environment, timeout=60
    )


FIXTURES = (modules, device, make, runtime)
"""Fixtures, which a test module imports under these names."""
