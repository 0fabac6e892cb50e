import pytest
import torch

from symsets.experiments.synthetic.objects import CATEGORIES, make_objects

F64 = torch.float64


@pytest.mark.parametrize("category", CATEGORIES)
def test_objects_are_normalised_exactly(category):
    parts = make_objects(category, range(50), dtype=F64).parts
    low, high = parts.extent()
    torch.testing.assert_close((low + high) / 2, torch.full((50, 3), 0.5, dtype=F64))
    torch.testing.assert_close((high - low).norm(dim=1), torch.ones(50, dtype=F64))
