"""Training steps of a loop of one's own, captured as CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from symsets._checks import check_choice, check_kind, check_number, shown
from symsets.train.graphs import CapturedFunction
from symsets.train.step import PRECISIONS, LossScale, Step, matmul_precision

MOST_SHAPES = 8  # of batches; each captured graph keeps the memory of a whole step


def capture(
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    loss: Callable[..., Tensor],
    *,
    precision: str = "float32",
    clip: float = 0.0,
) -> TrainingStep:
    """Return the training step of a loop of your own; on a GPU it is replayed as a CUDA graph.

    ``step(x, y)`` computes ``loss(network(x), y)`` and its gradients, takes a step of the optimiser
    and returns the loss, as a tensor, without waiting for the GPU. It replaces ``zero_grad``,
    ``backward`` and ``optimiser.step``; a learning-rate scheduler is called as usual.

    On a GPU, the first three steps on batches of one shape run eagerly; then the step is captured,
    which changes nothing, and from there on replayed. Every shape has a graph of its own, which
    keeps the memory of a whole step; after eight shapes, further ones run eagerly. Steps always run
    eagerly on a CPU, on batches that are not tensors (:class:`~symsets.RaggedSets`), and with
    optimisers other than SGD that know no ``capturable=``. Printing the step tells.

    What a graph has captured stays as it was: after freezing weights, changing other settings of
    the optimiser than its learning rate (some schedulers change momentum or betas), or loading its
    state, call ``capture`` again. Weights may be loaded at any time.

    Args:
        network: What to train, on its device and in training mode.
        optimiser: Of its parameters. On a GPU its learning rates become tensors, and it is made
            capturable and, where torch can, fused; setting ``group["lr"]`` to a number still works.
        loss: Maps the output of the network, and the targets, to one number.
        precision: As in :class:`~symsets.train.Plan`; ``"float16"`` scales the loss.
        clip: The largest norm of the gradient, as one vector over all weights; 0 for any.

    Shape:
        - x, y: tensors on the device of the network, with any layout in memory.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
        >>> optimiser = torch.optim.AdamW(net.parameters(), lr=1e-2)
        >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.99)
        >>> step = capture(net, optimiser, nn.functional.mse_loss, clip=1.0)
        >>> losses = []
        >>> for _ in range(100):
        ...     x = torch.randn(64, 3)
        ...     losses.append(step(x, x.norm(dim=1, keepdim=True)))
        ...     scheduler.step()
        >>> bool(losses[-1] < 0.1 * losses[0])
        True
        >>> step
        TrainingStep(eager: the network is not on a GPU)
    """
    return TrainingStep(network, optimiser, loss, precision=precision, clip=clip)


class TrainingStep:
    """A training step, as :func:`capture` makes it.

    Attributes:
        scale: What float16 multiplies the loss by; a module whose state belongs into checkpoints.
    """

    def __init__(
        self,
        network: nn.Module,
        optimiser: torch.optim.Optimizer,
        loss: Callable[..., Tensor],
        *,
        precision: str,
        clip: float,
    ) -> None:
        check_kind("network", network, nn.Module)
        check_kind("optimiser", optimiser, torch.optim.Optimizer)
        if isinstance(optimiser, torch.optim.LBFGS):
            raise TypeError("optimiser must take steps without a closure, got LBFGS")
        if not callable(loss):
            raise TypeError(f"loss must be a function of outputs and targets, got {shown(loss)}")
        check_choice("precision", precision, PRECISIONS)
        check_number("clip", clip)
        groups = optimiser.param_groups
        own = [parameter for group in groups for parameter in group["params"]]
        parameters = list(dict.fromkeys([*network.parameters(), *own]))
        self.network = network
        self.optimiser = optimiser
        self.precision = precision
        self.device = own[0].device
        self.scale = LossScale(1).to(self.device) if precision == "float16" else None
        self._step = Step(
            lambda x, *targets: loss(network(x), *targets),
            parameters,
            optimiser,
            precision,
            clip=clip,
            scale=self.scale,
        )
        self._why_eager = _why_eager(parameters, optimiser)
        if not self._why_eager:
            _make_capturable(optimiser)
        self._rates = [group["lr"] for group in groups]
        self._graphs: dict[Any, CapturedFunction] = {}
        self._gradients: dict[CapturedFunction, list[Tensor | None]] = {}
        self._last: CapturedFunction | None = None

    def __repr__(self) -> str:
        if self._why_eager:
            return f"TrainingStep(eager: {self._why_eager})"
        captured = sum(graph.is_captured for graph in self._graphs.values())
        return f"TrainingStep(captured: {captured} of {len(self._graphs)} shapes so far)"

    def __call__(self, x: Any, *targets: Any) -> Tensor:
        """Take one step; return the loss before it, as a tensor."""
        graph = self._graph_for((x, *targets))
        if graph is None:
            self._last = None
            return self._take_step(x, *targets)
        self._keep_rates()
        graph.load(x, *targets)
        loss = graph.run().clone()  # the next replay writes to the same memory
        if graph.is_captured:
            self._show_gradients(graph)
        self._last = graph
        return loss

    def _take_step(self, *batch: Any) -> Tensor:
        with matmul_precision(self.precision):
            return self._step(*batch)

    def _graph_for(self, batch: tuple[Any, ...]) -> CapturedFunction | None:
        """Return the graph for batches of this shape, or None if the step must be eager."""
        if self._why_eager or not all(isinstance(value, Tensor) for value in batch):
            return None
        if any(value.device != self.device for value in batch):
            return None  # torch knows best what is wrong with that
        shapes = tuple((value.shape, value.dtype) for value in batch)
        key = (self.network.training, shapes)
        if key not in self._graphs and len(self._graphs) < MOST_SHAPES:
            self._graphs[key] = CapturedFunction(
                self._take_step, batch, before_capture=self._step.free_gradients
            )
        return self._graphs.get(key)

    def _keep_rates(self) -> None:
        """Copy learning rates that were set to numbers to where the graphs read them."""
        for group, rate in zip(self.optimiser.param_groups, self._rates, strict=True):
            if group["lr"] is not rate:
                rate.fill_(group["lr"])
                group["lr"] = rate

    def _show_gradients(self, graph: CapturedFunction) -> None:
        """Let ``parameter.grad`` be what this graph computes, and not what another step did."""
        if graph not in self._gradients:
            self._gradients[graph] = [parameter.grad for parameter in self._step.parameters]
        elif graph is not self._last:
            pairs = zip(self._step.parameters, self._gradients[graph], strict=True)
            for parameter, gradient in pairs:
                parameter.grad = gradient


def _why_eager(parameters: list[nn.Parameter], optimiser: torch.optim.Optimizer) -> str:
    """Say why steps cannot be captured, if so."""
    devices = {parameter.device for parameter in parameters}
    if any(device.type != "cuda" for device in devices):
        return "the network is not on a GPU"
    if len(devices) > 1:
        return "the network is on several GPUs"
    if isinstance(optimiser, torch.optim.SGD) or "capturable" in optimiser.defaults:
        return ""
    return f"{type(optimiser).__name__} cannot be captured"


def _make_capturable(optimiser: torch.optim.Optimizer) -> None:
    """Let a graph read learning rates and step counts from tensors on the GPU."""
    for group in optimiser.param_groups:
        device, rate = group["params"][0].device, group["lr"]
        if not isinstance(rate, Tensor) or rate.device != device:
            group["lr"] = torch.tensor(float(rate), device=device)
        if "capturable" in group:
            group["capturable"] = True
        chosen = (group.get(name) for name in ("foreach", "fused", "differentiable"))
        if isinstance(optimiser, torch.optim.SGD):  # others read the rate on the host
            group["foreach"], group["fused"] = False, True
        elif isinstance(optimiser, torch.optim.Adam | torch.optim.AdamW) and not any(chosen):
            group["fused"] = True
        for parameter in group["params"]:
            state = optimiser.state.get(parameter, {})
            if "step" in state:
                state["step"] = torch.as_tensor(state["step"], dtype=torch.float32).to(device)
