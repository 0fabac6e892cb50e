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


def test_settings_in_the_newer_way_of_torch_are_kept():
    matmul, conv = torch.backends.cuda.matmul, getattr(torch.backends.cudnn, "conv", None)
    if not hasattr(matmul, "fp32_precision") or conv is None:
        pytest.skip("this torch has the older way alone")
    older = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    matmul.fp32_precision, conv.fp32_precision = "tf32", "ieee"
    try:
        for precision in ("float32", "tf32", "float16"):
            with matmul_precision(precision):
                assert (torch.get_float32_matmul_precision() == "high") == (precision == "tf32")
                assert torch.backends.cudnn.allow_tf32 == (precision != "float32")
            assert matmul.fp32_precision == "tf32"
            assert conv.fp32_precision != "tf32"
    finally:
        torch.set_float32_matmul_precision(older[0])
        torch.backends.cudnn.allow_tf32 = older[1]
