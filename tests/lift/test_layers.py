import copy
import io
import re
import threading

import pytest
import torch
import torch.nn.functional as F
from lifting import (
    SCHEMES,
    Apply,
    Map,
    Net,
    assert_same,
    circular,
    dense,
    gradients,
    lifted,
    perturbed,
    ragged,
    rows,
    without_checkpoints,
)
from torch import nn
from torch.utils.checkpoint import checkpoint

from symsets import RaggedSets, lift
from symsets.nn import Graph, GraphConv
from symsets.testing import assert_equivariant, roll

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
DEVICES = ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, needs_gpu])]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_layer_gets_a_message_from_the_set(scheme):
    for name in ("first", "second", "third"):
        net = lift(Map().double(), scheme)
        perturbed(getattr(net.model, name).message)
        x = dense(1, 4, 2, 8)
        assert (net(x)[:, :1] - net(x[:, :1])).abs().max() > 1e-3


@pytest.mark.parametrize("scheme", ["dss-mean", "wreath", "attention"])
def test_messages_learn_in_the_first_step(scheme):
    net = lift(Map().double(), scheme)
    found = gradients(net, dense(2, 3, 2, 8))
    last = [n for n in found if n.endswith(("message.context.weight", "value.weight", "beta"))]
    assert len(last) == 3
    assert all(found[name].abs().max() > 0 for name in last)


def test_modes_and_gradients_of_messages():
    model = Net().eval()
    model.block.train()
    model.stem.requires_grad_(False)
    net = lift(model)
    assert not net.training
    assert not net.model.stem.message.training
    assert net.model.block[0].message.training
    net(torch.randn(1, 2, 2, 8)).sum().backward()
    assert net.model.stem.weight.grad is None  # frozen as in the original
    assert net.model.stem.message.context.weight.grad.abs().max() > 0


@pytest.mark.parametrize("scheme", ["dss-sum", "dss-median", "attention", "wreath"])
def test_gradcheck(scheme):
    net = lifted(nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1)), scheme)
    names, values = zip(*net.named_parameters(), strict=True)

    def run(x, *values):
        parameters = dict(zip(names, values, strict=True))
        return rows(torch.func.functional_call(net, parameters, RaggedSets(x, [2, 0, 1])))

    assert torch.autograd.gradcheck(run, (dense(3, 2).requires_grad_(), *values))


class Standardised(nn.Conv1d):
    """A convolution that standardises its weights and scales them by learned numbers."""

    def __init__(self, i, o, k):
        super().__init__(i, o, k, padding=k // 2)
        self.gain = nn.Parameter(torch.ones(o))

    def reset_parameters(self):
        super().reset_parameters()
        if hasattr(self, "gain"):
            nn.init.ones_(self.gain)

    def forward(self, x):
        flat = self.weight.flatten(1).T
        flat = F.batch_norm(flat, None, None, self.gain, training=True, eps=1e-6)
        return F.conv1d(x, flat.T.view_as(self.weight), self.bias, padding=self.padding)


@pytest.mark.parametrize("scheme", ["dss-sum", "dss-power2", "attention", "wreath"])
def test_messages_of_derived_layers_grow_from_nothing(scheme):
    net = nn.Sequential(Standardised(2, 4, 3), nn.ELU()).double()
    x, new = dense(2, 3, 2, 8), lift(net, scheme)
    before = new(x)
    torch.testing.assert_close(before[1], net(x[1]))
    messages = [p for name, p in new.named_parameters() if "message" in name]
    before.square().sum().backward()
    torch.optim.SGD(messages, lr=1e-7).step()
    assert 0 < (new(x) - before).abs().max() < 1e-2


class Block(nn.Module):
    """A map of single elements that is made of several layers."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 6), nn.Linear(6, 4)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))


@pytest.mark.parametrize("scheme", ["dss-mean", "dss-power2", "attention"])
def test_the_messages_of_whole_blocks_start_at_zero_and_learn(scheme):
    block = Block()
    net = lift(nn.Sequential(block), scheme, where=["0"])
    x = torch.randn(8, 5, 3)
    torch.testing.assert_close(net(x), block(x))
    optimiser = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(2):
        optimiser.zero_grad()
        (net(x) - x.mean(1, keepdim=True).sum(2, keepdim=True)).square().mean().backward()
        optimiser.step()
    message = net.model[0].message
    last = message.value if scheme == "attention" else message.context
    assert all(bool((p.grad != 0).any()) for p in last.parameters())
    assert any(p is last.scale for p in net.message_parameters())
    assert "LiftedBlock(\n      + " in repr(net)
    with pytest.raises(ValueError, match=r"layer '0' cannot be lifted \(out_channels must"):
        lift(nn.Sequential(nn.PReLU(2)), "wreath", where=["0"])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_output_size_of_a_transposed_convolution_is_passed_on(scheme):
    up = nn.ConvTranspose1d(2, 3, 3, stride=2)
    for fn in (
        lambda m, x: m.up(x, [18]),
        lambda m, x: m.up(x, output_size=[18]),
        lambda m, x: m.up(input=x, output_size=[18]),
    ):
        assert lifted(Apply(fn, up=up), scheme)(dense(2, 3, 2, 8)).shape == (2, 3, 3, 18)


def test_a_graph_is_passed_on():
    graph = Graph(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]), num_nodes=4)
    layers = {"a": GraphConv(2, 3), "b": GraphConv(3, 2)}
    model = Apply(lambda m, x, graph: m.b(F.elu(m.a(x, graph)), graph=graph), **layers)
    net = lifted(model, where=["a", "b"])
    assert_equivariant(net, dense(2, 3, 2, 4), graph, symmetry=roll(1))
    assert (net(dense(1, 3, 2, 4), graph)[0, 0] != 0).any()


class Affine(nn.Module):
    def __init__(self):
        super().__init__()
        self.activation, self.map = nn.SiLU(), nn.Linear(2, 2).double()

    def forward(self, x, shift=0.0, scale=1.0, *, root=False):
        y = self.map(self.activation(x)) * scale + shift
        return y.sqrt() if root else y


def test_names_of_arguments_reach_the_message():
    net = lifted(Apply(lambda m, x, **k: m.block(x, **k), block=Affine()), where=["block"])
    x = dense(2, 3, 2)
    torch.testing.assert_close(net(x, scale=3.0), 3 * net(x))
    with pytest.raises(TypeError, match=r"layer 'block' must be able .* got \['root'\] by name"):
        net(x, root=True)


@pytest.mark.parametrize("scheme", ["dss-sum", "dss-max"])
def test_a_block_that_works_in_place_returns_the_same(scheme):
    model = Apply(lambda m, x: m.block(x.clone()), block=Affine())
    net, x = lifted(model, scheme, where=["block"]), dense(2, 3, 2)
    expected = net(x)
    net.model.block.activation.inplace = True
    torch.testing.assert_close(net(x), expected)


@pytest.mark.parametrize("names", [["block", "block.map"], ["block.map", "block"]])
def test_a_block_and_a_layer_inside_may_both_be_lifted(names):
    net = Apply(lambda m, x: m.block(x), block=Affine())
    new, x = lift(net, where=names), dense(2, 3, 2)
    torch.testing.assert_close(new(x)[1], net(x[1]))


def test_rows_that_are_no_elements_are_refused():
    def windows(self, x):
        return self.a(self.b(x.reshape(-1, 1))).reshape(len(x), -1)

    model = Apply(windows, a=nn.Linear(3, 1), b=nn.Linear(1, 3))
    with pytest.raises(
        ValueError, match=r"layer 'b' must get one row per element, 6, got 12 .* with where="
    ):
        lift(model)(torch.randn(2, 3, 2))


# Torch warns that inside an outer reentrant checkpoint nothing requires a gradient at first.
@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("scheme", ["dss-sum", "attention", "wreath"])
@pytest.mark.parametrize("device", DEVICES)
def test_checkpointing_changes_no_gradient(device, scheme, reentrant, nested):
    net = lifted(Map(reentrant, nested), scheme).to(device)
    # Same total, different sets: only the right batch gives the right gradient.
    sizes = (1, 5), (5, 0, 1), (4,)
    batches = [dense(2, 3, 2, 8), dense(3, 2, 2, 8), *map(ragged, sizes)]
    batches = [batch.to(device) for batch in batches]
    for batch in batches:
        rows(batch).requires_grad_()  # reentrant checkpoints need it
    assert_same(gradients(net, *batches), gradients(without_checkpoints(net), *batches))


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing_of_nested_calls_with_backward_in_another_thread(reentrant):
    net = lifted(Apply(lambda m, x: (m.map(x), m.map(x).mean()), map=Map(reentrant)))
    a, b = dense(2, 3, 2, 8).requires_grad_(), dense(3, 2, 2, 8).requires_grad_()

    def run(net):
        net.zero_grad()
        once, mean = net(a)
        again, _ = net(once.reshape(1, 6, 2, 8))
        loss = mean * (again.flatten() * net(b)[0].flatten() * once.flatten()).sum()
        thread = threading.Thread(target=loss.backward)
        thread.start()
        thread.join()
        return {name: p.grad.clone() for name, p in net.named_parameters()}

    assert_same(run(net), run(without_checkpoints(net)))


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_around_the_whole_network(reentrant):
    net = lifted(Map())

    def around(batch):
        return checkpoint(net, batch, use_reentrant=reentrant)

    a, b = dense(2, 3, 2, 8).requires_grad_(), dense(3, 2, 2, 8).requires_grad_()
    (around(a).pow(2).sum() + around(b).pow(2).sum()).backward()
    found = {name: p.grad.clone() for name, p in net.named_parameters()}
    assert_same(found, gradients(net, a, b))


def test_after_a_backward_pass_no_layer_takes_its_sets_for_others():
    net = lifted(Map(False))
    out = net(dense(2, 3, 2, 8).requires_grad_())  # is still there below
    out.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="call the network, not the layer"):
        net.model(out.detach().flatten(0, 1))


def test_gradient_penalties_through_checkpoints():
    net, x = lifted(Map(False)), dense(2, 3, 2, 8).requires_grad_()

    def run(net):
        net.zero_grad()
        (slope,) = torch.autograd.grad(net(x).pow(2).sum(), x, create_graph=True)
        slope.pow(2).sum().backward()
        return {name: p.grad.clone() for name, p in net.named_parameters()}

    assert_same(run(net), run(without_checkpoints(net)))


def test_two_threads_work_on_different_sets():
    meet = threading.Barrier(2)

    def fn(self, x):
        x = self.a(x)
        meet.wait(timeout=10)  # both networks are half done
        x = self.b(x)
        meet.wait(timeout=10)
        return x

    net = lifted(Apply(fn, a=nn.Linear(2, 3), b=nn.Linear(3, 2)))
    plain = copy.deepcopy(net)
    plain.model.fn = lambda self, x: self.b(self.a(x))
    batches = dense(2, 3, 2), RaggedSets(dense(6, 2), [1, 5])
    found = {}

    def run(k):
        found[k] = rows(net(batches[k]))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, batch in enumerate(batches):
        torch.testing.assert_close(found[k], rows(plain(batch)))


def test_layers_work_only_inside_their_network():
    net = lifted(Map(False))
    gradients(net, dense(2, 3, 2, 8))
    with pytest.raises(RuntimeError, match="layer 'first' belongs to a lifted network: call the"):
        net.model(dense(6, 2, 8))
    with pytest.raises(ValueError, match="layer 'first' must get elements"):
        net(dense(2, 3, 5, 8))
    with pytest.raises(RuntimeError, match="layer 'first' belongs to a lifted network"):
        net.model(dense(6, 2, 8))


def test_copies_are_independent():
    net, x = lifted(Map()), dense(2, 3, 2, 8)
    before = net(x)
    twin = copy.deepcopy(net)
    assert repr(twin) == repr(net)
    assert twin._current is not net._current
    assert twin.model.first._current is twin.model.third._current is twin._current
    torch.testing.assert_close(twin(x), before, rtol=0, atol=0)
    perturbed(net)
    torch.testing.assert_close(twin(x), before, rtol=0, atol=0)


def test_whole_networks_are_saved_and_loaded():
    net, x = lifted(nn.Sequential(circular(2, 3), nn.ReLU(), circular(3, 2))), ragged()
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    torch.testing.assert_close(loaded(x).elements, net(x).elements, rtol=0, atol=0)
    assert type(loaded.model[0]) is type(net.model[0])


def test_a_layer_that_is_parametrised_is_saved_by_its_weights():
    net, x = lift(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), "dss-max"), torch.randn(2, 5, 3)
    nn.utils.parametrizations.orthogonal(net.model[0])
    torch.testing.assert_close(copy.deepcopy(net)(x), net(x))
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        torch.save(net, io.BytesIO())


class Locked(nn.Linear):
    """A map with an attribute that cannot be copied."""

    def __getstate__(self):
        return self.__dict__ | {"lock": None}


def test_a_layer_keeps_its_own_way_to_be_copied():
    net, x = lift(Locked(3, 4)), torch.randn(2, 5, 3)
    net.model.lock = threading.Lock()
    torch.testing.assert_close(copy.deepcopy(net)(x), net(x))


def test_a_module_with_two_names_becomes_one():
    shared = nn.Linear(2, 2)
    model = Apply(lambda m, x: m.b(F.elu(m.a(x))), a=shared, b=shared)
    for where in (None, ["a"], ["b"], ["b", "a"]):
        net = lifted(model, where=where)
        assert net.model.a is net.model.b
        assert copy.deepcopy(net).model.a is not net.model.a
        assert len(list(net.parameters())) == 3
        assert_equivariant(net, dense(2, 3, 2))
    net.load_element_state_dict(model.state_dict())


def test_lifted_layers_still_show_what_they_are():
    net = lift(nn.Sequential(nn.Linear(2, 3), nn.Flatten(), nn.Linear(3, 1, bias=False)))
    assert isinstance(net.model[0], nn.Linear)
    assert net.model[0].in_features == 2
    assert net.model[0].weight.shape == (3, 2)
    assert net.model[2].bias is None
    assert "in_features=2, out_features=3, bias=True, + context(Σ_j x_j)" in repr(net)
    assert "scheme='dss-sum'" in repr(net)


@pytest.mark.parametrize("scheme", ["dss-sum", "attention", "wreath"])
def test_networks_with_code_of_their_own_say_what_their_layers_take(scheme):
    net = lift(Net(), scheme=scheme)
    for x in (torch.zeros(6, 2, 8), torch.zeros(2, 3, 5, 8)):  # no set axis; other channels
        got = re.escape(str(tuple(x.shape[2:])))
        with pytest.raises(
            ValueError, match=rf"layer 'stem' must get elements \(2, L\), got {got}"
        ):
            net(x)
    with pytest.raises(TypeError, match=r"torch\.float32 like the Conv1d, got torch.float64"):
        net(torch.zeros(2, 3, 2, 8, dtype=torch.float64))
