"""How datasets are read."""

import os

import pytest
import torch
from torch.utils.data import Dataset

from symsets import RaggedSets
from symsets.data import LabelledSets
from symsets.sets import GraphSets
from symsets.train.inputs import content_code, num_workers


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


def test_the_code_of_sets_of_graphs_knows_their_edges():
    def code(ends):
        edges = RaggedSets(torch.tensor(ends), sizes=[1, 2])
        graphs = GraphSets(RaggedSets(torch.ones(5, 3), sizes=[2, 3]), [1, 1], edges)
        return content_code(LabelledSets(graphs, torch.tensor([0, 1])))

    assert code([[0, 1], [0, 1], [1, 2]]) == code([[0, 1], [0, 1], [1, 2]])
    assert code([[0, 1], [0, 1], [1, 2]]) != code([[0, 1], [0, 1], [0, 2]])
