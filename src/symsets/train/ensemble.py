"""Several networks of one architecture, computed together."""

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils import _pytree as pytree

from symsets._checks import shown
from symsets.ops import memory_order
from symsets.sets import RaggedSets


class Ensemble(nn.Module):
    """Hold K networks of one architecture as one, with every weight stacked.

    No member sees another: gradients, batch statistics and optimiser states of each are those it
    would have on its own.

    Members run one after the other, on a GPU side by side on a CUDA stream for each.

    Args:
        networks: The members; they are copied.

    Shape:
        - inputs: ``(K, B, …)``, a batch for each member; or a list of K batches, such as ragged
          ones.
        - output: ``(K, B, …)``, or a list where members return sets of different sizes.

    Example:
        >>> ensemble = Ensemble([nn.Linear(3, 2) for _ in range(4)])
        >>> ensemble(torch.zeros(4, 7, 3)).shape
        torch.Size([4, 7, 2])
    """

    def __init__(self, networks: Sequence[nn.Module]) -> None:
        super().__init__()
        _check_alike(networks)
        self.size = len(networks)
        self.stacked = copy.deepcopy(networks[0])
        members = [_tensors(network) for network in networks]
        made: dict[int, Any] = {}  # a weight with two names stays one
        for name, value in members[0].items():
            owner, _, leaf = name.rpartition(".")
            if id(value) not in made:
                together = _stacked([member[name].detach() for member in members])
                if isinstance(value, nn.Parameter):
                    together = nn.Parameter(together, requires_grad=value.requires_grad)
                made[id(value)] = together
            setattr(self.stacked.get_submodule(owner), leaf, made[id(value)])
        # Its own weights are never used; a list keeps it out of the parameters.
        self._template = [copy.deepcopy(networks[0]).to("meta")]

    @property
    def template(self) -> nn.Module:
        """The network without weights that every member runs through."""
        return self._template[0]

    def forward(self, *inputs: Any, then: Callable[..., Tensor] | None = None) -> Any:
        """Apply each member to its own inputs.

        Args:
            inputs: The first goes to the networks, the others to ``then``.
            then: A function of a member's output and its other inputs, such as a loss.
        """
        state = _tensors(self.stacked)
        once = {id(value): value for value in state.values()}  # what has two names goes in once
        names = Counter(map(id, state.values()))
        single = [name for name, value in state.items() if names[id(value)] == 1]

        def member(tensors: dict[int, Tensor], x: Any, *rest: Any) -> Any:
            named = {name: tensors[id(value)] for name, value in state.items()}
            out = functional_call(self.template, given := dict(named), (x,))
            _check_kept({name: named[name] for name in single}, given)
            return then(out, *rest) if then else out

        for value in inputs:
            is_batch = isinstance(value, list | tuple) or (isinstance(value, Tensor) and value.ndim)
            if not is_batch or len(value) != self.size:
                raise ValueError(f"inputs must have {self.size} batches, got {shown(value)}")
        self.template.train(self.training)
        if self.size == 1:
            # Not value[0]: the gradient of a selection is a copy into zeros.
            alone = {key: value.squeeze(0) for key, value in once.items()}
            return _together([member(alone, *(value[0] for value in inputs))])
        apart = {key: value.unbind() for key, value in once.items()}
        states = [{key: v[k] for key, v in apart.items()} for k in range(self.size)]
        return _together(_side_by_side(lambda k, *own: member(states[k], *own), inputs))

    def synchronise_statistics(self) -> None:
        """Take batch statistics over all processes (on GPUs; for a single member)."""
        self._template[0] = nn.SyncBatchNorm.convert_sync_batchnorm(self.template)

    def member_state(self, k: int) -> dict[str, Tensor]:
        """Return a copy of the state of member ``k``, as the network names it."""
        return {name: v[k].detach().clone() for name, v in self.stacked.state_dict().items()}


def _check_alike(networks: Sequence[nn.Module]) -> None:
    """Raise unless networks are alike in all but their weights."""
    if not isinstance(networks, Sequence) or not all(isinstance(n, nn.Module) for n in networks):
        raise TypeError(f"networks must be a list of networks, got {shown(networks)}")
    if not networks:
        raise ValueError("networks must hold at least one network, got none")
    looks = [(str(n), {name: t.shape for name, t in _tensors(n).items()}) for n in networks]
    if others := [k for k, look in enumerate(looks) if look != looks[0]]:
        raise ValueError(f"networks must have parts and shapes alike, network {others[0]} has not")


def _check_kept(named: dict[str, Tensor], given: dict[str, Tensor]) -> None:
    """Raise ValueError naming a buffer that a network has replaced by another tensor."""
    for name, value in named.items():
        if given[name] is not value:
            raise ValueError(f"buffer {name!r} must be changed in place, got another tensor")


def _tensors(network: nn.Module) -> dict[str, Tensor]:
    """Return all parameters and buffers, also those that are not saved, by all their names."""
    parameters = network.named_parameters(remove_duplicate=False)
    return {**dict(parameters), **dict(network.named_buffers(remove_duplicate=False))}


def _together(outputs: list[Any]) -> Any:
    """Stack what members return; sets of different sizes stay a list."""
    if not isinstance(outputs[0], Tensor):
        return outputs
    return torch.stack(outputs) if len(outputs) > 1 else outputs[0][None]


def _side_by_side(member: Callable[..., Any], inputs: Sequence[Any]) -> list[Any]:
    """Return what each member makes of its inputs; on a GPU, on a stream for each.

    The streams may be captured into one CUDA graph. A backward pass takes the same ones.
    """
    first = inputs[0][0]  # of the first member
    if first.device.type != "cuda":
        return [member(k, *own) for k, own in enumerate(zip(*inputs, strict=True))]
    here = torch.cuda.current_stream(first.device)
    streams = [_stream(first.device, k) for k in range(len(inputs[0]))]
    outputs = []
    for k, stream in enumerate(streams):
        stream.wait_stream(here)
        with torch.cuda.stream(stream):
            outputs.append(member(k, *(value[k] for value in inputs)))
        for value in _leaves(list(inputs)):
            value.record_stream(stream)  # its memory is not free before this stream has read it
    for stream, output in zip(streams, outputs, strict=True):
        here.wait_stream(stream)
        for value in _leaves(output):
            value.record_stream(here)
    return outputs


def _leaves(tree: Any) -> list[Any]:
    """Return the tensors and sets of a tree; sets are whole, for their sizes have memory, too."""
    return pytree.tree_leaves(tree, is_leaf=lambda value: isinstance(value, RaggedSets))


@cache
def _stream(device: torch.device, k: int) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)


def _stacked(tensors: Sequence[Tensor]) -> Tensor:
    """Stack tensors and keep the order in which their entries lie in memory."""
    order, back = memory_order(tensors[0])
    together = torch.stack([tensor.permute(order) for tensor in tensors])
    return together.permute(0, *(1 + axis for axis in back))
