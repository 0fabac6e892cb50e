"""What ``symsets.train`` offers to those who train their own sets."""

import sys
from types import ModuleType

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from symsets import train
from symsets._extras import MissingExtraError
from symsets.data import LabelledSets


def test_all_names_are_there_and_none_is_hidden_by_a_module():
    import symsets.train.fitting  # noqa: F401  (importing a module puts its name into the package)

    for name in train.__all__:
        assert not isinstance(getattr(train, name), ModuleType), name
    assert set(train.__all__) <= set(dir(train))
    with pytest.raises(AttributeError, match=r"'symsets\.train' has no attribute 'fti'"):
        train.fti


def small_run():
    sets = LabelledSets(torch.zeros(2, 3, 1), torch.zeros(2, dtype=torch.int64))
    task = train.Task(cross_entropy, (train.ACCURACY,))
    return train.fit_together([nn.Flatten()], [0], train.Plan(1), sets, sets, task)


def test_the_extra_is_named_where_lightning_is_missing(monkeypatch):
    for name in ("lightning", "lightning.fabric"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'symsets\[experiments\]'"):
        small_run()
    assert train.Plan(1).epochs == 1
