import gc
import os
from contextlib import contextmanager

import pytest
import torch

# Some virtual machines announce the matrix units of their processor (AMX) and then refuse their
# instructions: products in bfloat16 would end the process. Read before the first product.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

# Spare torch.compile to try with C++ programs whether the processor has the vectors it announces.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")


def pytest_addoption(parser):
    parser.addoption("--large", action="store_true", help="fuzz and kill as much as make fuzz does")


def pytest_configure():
    """Collect no garbage while tests are collected: there is none."""
    gc.disable()


def pytest_collection_modifyitems(items):
    """Begin with what takes long, so that no process waits for another in the end."""
    items.sort(key=lambda item: "slow" not in item.keywords)


def pytest_collection_finish():
    """Spare the collector of garbage what lives to the end, and let it look less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)  # with the default it takes a twentieth of all time
    gc.enable()


@pytest.fixture(scope="session")
def large(request):
    """Whether to try many more damaged files, calls and kills than a usual test can afford."""
    return request.config.getoption("--large")


@pytest.fixture(autouse=True)
def _fixed_seed():
    torch.manual_seed(0)
    torch.set_num_threads(1)


@pytest.fixture
def small_files():
    """Let the system refuse what makes a file larger than so many bytes, as a full disk does."""
    resource = pytest.importorskip("resource", reason="needs a system with limits")

    @contextmanager
    def limited(size):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limited
