import pytest

from symsets.train.processes import distributed_options, is_first

TORCHRUN = {"WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4", "RANK": "5"}
SLURM = {"SLURM_NTASKS": "4", "SLURM_NTASKS_PER_NODE": "2", "SLURM_PROCID": "0"}


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    for name in (*TORCHRUN, *SLURM):
        monkeypatch.delenv(name, raising=False)


def test_alone_nothing_is_distributed():
    assert distributed_options() == {}
    assert is_first()


@pytest.mark.parametrize(
    ("environment", "devices", "first"), [(TORCHRUN, 4, False), (SLURM, 2, True)]
)
def test_launchers_are_recognised(monkeypatch, environment, devices, first):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert distributed_options() == {"strategy": "ddp", "devices": devices, "num_nodes": 2}
    assert is_first() is first
