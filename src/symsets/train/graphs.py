"""Functions of tensors, captured as CUDA graphs."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from symsets.ops import captured

WARM_UP = 3  # eager calls that make memory, library handles and the state of optimisers


class CapturedFunction:
    """A function of tensors on a GPU, captured as a CUDA graph after three eager calls.

    The eager calls are calls like any other: what they change stays changed, and they draw the
    random numbers that a replay would draw. Capturing itself computes nothing. So after any number
    of calls everything is as if all of them had been eager.

    Args:
        function: Must always do the same on inputs of the same shape, and not wait for the GPU.
        inputs: Tensors with the shapes, types and layouts of the inputs.
        before_capture: Called once, to free memory that the graph shall hold, such as gradients.
        search: Let cuDNN try all its algorithms; it may choose slower ones in half precision.

    Attributes:
        inputs: The memory that the graph reads its inputs from.
    """

    def __init__(
        self,
        function: Callable[..., Tensor],
        inputs: Sequence[Tensor],
        *,
        before_capture: Callable[[], None],
        search: bool = False,
    ) -> None:
        self.function = function
        self.inputs = [torch.empty_like(value, requires_grad=False) for value in inputs]
        self.before_capture = before_capture
        self.search = search
        self._stream = torch.cuda.Stream(self.inputs[0].device)
        self._calls = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._output: Tensor | None = None

    @property
    def is_captured(self) -> bool:
        """Whether calls replay the graph by now."""
        return self._graph is not None

    @torch.no_grad()
    def load(self, *inputs: Tensor) -> None:
        """Copy inputs to where the graph reads them."""
        for own, value in zip(self.inputs, inputs, strict=True):
            own.copy_(value)

    def run(self) -> Tensor:
        """Call the function on the loaded inputs; the next call may overwrite what it returns."""
        if self._graph is None and self._calls < WARM_UP:
            self._calls += 1
            return self._run_eagerly()
        if self._graph is None:
            self._graph = self._capture()
        self._graph.replay()
        assert self._output is not None
        return self._output

    def _run_eagerly(self) -> Tensor:
        """Call the function on a stream of its own, as a capture of its backward pass needs."""
        here = torch.cuda.current_stream(self.inputs[0].device)
        self._stream.wait_stream(here)
        with torch.cuda.stream(self._stream), _cudnn_search(self.search), captured():
            output = self.function(*self.inputs)
        here.wait_stream(self._stream)
        return output

    def _capture(self) -> torch.cuda.CUDAGraph:
        self.before_capture()
        graph = torch.cuda.CUDAGraph()
        # thread_local: threads that load data may go on while this one captures.
        capturing = torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local")
        try:
            with _cudnn_search(self.search), captured(), no_garbage_collection(), capturing:
                self._output = self.function(*self.inputs)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            raise RuntimeError(
                "the step cannot be captured as a CUDA graph: network, loss and optimiser must not "
                f"wait for the GPU, as .item(), .cpu() and print do ({error})"
            ) from error
        return graph


@contextmanager
def _cudnn_search(search: bool) -> Iterator[None]:
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = search or before
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collect garbage before, and none inside: freeing an older graph would spoil a capture."""
    before = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
