"""Read a pickled list of PyTorch Geometric's graphs without running what the file asks for."""

import io
import pickle
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor


def read_pickled(content: bytes) -> list[SimpleNamespace]:
    """Return graphs with tensors as attributes; raise if the file asks for anything else.

    A pickle names functions and calls them. Four names are known here, and stand for functions of
    ours that make records, tensors and dictionaries; the numbers of a tensor are read by
    ``torch.load(weights_only=True)``.
    """
    return _Reader(io.BytesIO(content)).load()


def _storage(content: bytes) -> Tensor:
    """Return the numbers of a tensor, end to end."""
    storage: Any = torch.load(io.BytesIO(content), weights_only=True)
    return torch.empty(0, dtype=storage.dtype).set_(storage)


def _tensor(
    numbers: Tensor, start: int, size: Sequence[int], stride: Sequence[int], *_: object
) -> Tensor:
    return numbers.as_strided(size, stride, start)  # which checks that it stays inside


class _Reader(pickle.Unpickler):
    """An unpickler for which nothing exists but what a tensor and a graph are made of."""

    known = {  # noqa: RUF012
        ("torch_geometric.data.data", "Data"): SimpleNamespace,
        ("torch._utils", "_rebuild_tensor_v2"): _tensor,
        ("torch.storage", "_load_from_bytes"): _storage,
        ("collections", "OrderedDict"): dict,
    }

    def find_class(self, module: str, name: str) -> Any:
        """Return what stands for a name; raise ValueError if it is not one of the four."""
        if (module, name) not in self.known:
            raise ValueError(f"it asks for {module}.{name}, which no graph needs")
        return self.known[module, name]
