"""Precisions of training steps; what they compute is tested in test_fitting.py."""

import pytest
import torch

from symsets.train.step import PRECISIONS, matmul_precision


@pytest.mark.parametrize("precision", PRECISIONS)
def test_only_tf32_rounds_products_and_half_precision_rounds_convolutions(precision):
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    with matmul_precision(precision):
        assert (torch.get_float32_matmul_precision() == "high") == (precision == "tf32")
        assert torch.backends.cudnn.allow_tf32 == (precision in ("tf32", "bfloat16", "float16"))
    assert (torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32) == before
