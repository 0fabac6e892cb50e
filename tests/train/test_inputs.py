"""How datasets are read."""

import os

import pytest
import torch
from torch.utils.data import Dataset

from symsets.train.inputs import num_workers


class Sets(Dataset):
    def __init__(self, cached):
        self.cached = cached

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return torch.zeros(2, 3), 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_datasets_are_read_by_workers_unless_they_keep_what_they_decoded():
    assert num_workers(Sets(cached=False), None) >= 1
    assert num_workers(Sets(cached=True), None) == 0
    assert num_workers(Sets(cached=True), 2) == 2  # unless somebody asks for them
    assert num_workers([(torch.zeros(2, 3), 0)], None) == 0
