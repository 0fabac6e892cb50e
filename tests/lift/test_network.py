import copy
import io
import re
import threading
import warnings

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load as load_safetensors
from safetensors.torch import save as save_safetensors
from torch import nn
from torch.utils.checkpoint import checkpoint

from symsets import DSS, RaggedSets, Sequential, Siamese, lift, register_scheme
from symsets.nn import CircularConv1d, Graph, GraphConv
from symsets.nn.registry import unregister_scheme
from symsets.testing import assert_equivariant, equivariance_error, roll

SCHEMES = ["dss-sum", "dss-mean", "dss-max", "dss-median", "dss-power2", "attention", "wreath"]


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def circular(i, o):
    return nn.Conv1d(i, o, 3, padding=1, padding_mode="circular")


class Net(nn.Module):
    """Residual sums, concatenations, functional calls, a branch; signals to vectors."""

    def __init__(self):
        super().__init__()
        self.stem = circular(2, 4)
        self.block = nn.Sequential(CircularConv1d(4, 4, 3), nn.BatchNorm1d(4), nn.ReLU())
        self.mix = nn.Conv1d(8, 4, 1)
        self.head = nn.Linear(4, 3)

    def features(self, x):
        x = F.elu(self.stem(x))
        x = x + self.block(x)
        return self.mix(torch.cat([x, x.flip(1)], dim=1))

    def forward(self, x, pooled=True):
        x = self.features(x)
        return self.head(x.mean(-1)) if pooled else x


class Map(nn.Module):
    """Signals to signals, with checkpoints if asked for."""

    def __init__(self, reentrant=None, nested=False):
        super().__init__()
        self.first, self.second, self.third = circular(2, 3), circular(3, 3), circular(3, 2)
        self.reentrant, self.nested = reentrant, nested

    def middle(self, x):
        return F.elu(self.second(x))

    def body(self, x):
        x = F.elu(self.first(x))
        x = self.again(self.middle, x) if self.nested else self.middle(x)
        return self.third(x)

    def again(self, fn, x):
        return x if self.reentrant is None else checkpoint(fn, x, use_reentrant=self.reentrant)

    def forward(self, x):
        return self.body(x) if self.reentrant is None else self.again(self.body, x)


class Apply(nn.Module):
    """Run ``fn(self, x)`` with some layers at hand."""

    def __init__(self, fn, **layers):
        super().__init__()
        self.fn = fn
        for name, layer in layers.items():
            setattr(self, name, layer)

    def forward(self, x, *args, **kwargs):
        return self.fn(self, x, *args, **kwargs)


def perturbed(module):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return module


def lifted(model, scheme="dss-sum", **options):
    return perturbed(lift(model.double(), scheme, **options))


def ragged(sizes=(2, 0, 3, 1), channels=2, length=8):
    return RaggedSets(torch.randn(sum(sizes), channels, length, dtype=torch.float64), sizes)


def dense(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def gradients(net, *batches):
    net.zero_grad()
    loss = sum(rows(net(batch)).pow(2).sum() for batch in batches)
    loss.backward()
    return {name: p.grad.clone() for name, p in net.named_parameters()}


def rows(out):
    return out.elements if isinstance(out, RaggedSets) else out


def assert_same(a, b, tolerance=1e-12):
    assert a.keys() == b.keys()
    for name in a:
        torch.testing.assert_close(a[name], b[name], rtol=tolerance, atol=tolerance)


def without_checkpoints(net):
    """Return the same network with the same weights, keeping all activations."""
    plain = copy.deepcopy(net)
    for module in plain.modules():
        if isinstance(module, Map):
            module.reentrant = None
            module.nested = False
    return plain


# At first: the original


@pytest.mark.parametrize("scheme", [*SCHEMES, "siamese"])
def test_at_first_each_element_gets_what_the_original_gave_it(scheme):
    net = Net().double().eval()
    new = lift(net, scheme)
    x = dense(2, 3, 2, 8)
    torch.testing.assert_close(new(x), net(x.flatten(0, 1)).unflatten(0, (2, 3)))
    sets = ragged()
    out = new(sets)
    assert out.sizes.tolist() == [2, 0, 3, 1]
    torch.testing.assert_close(out.elements, net(sets.elements))


@pytest.mark.parametrize("sizes", [(0, 0), (0,), (1,)])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_empty_sets_and_single_elements_are_sets(scheme, sizes):
    net = Map().double()
    sets = ragged(sizes)
    torch.testing.assert_close(lift(net, scheme)(sets).elements, net(sets.elements))
    assert lift(net, scheme)(dense(2, 0, 2, 8)).shape == (2, 0, 2, 8)


def test_the_argument_is_never_changed():
    net = Net().eval()
    net.block.train()
    net.stem.requires_grad_(False)
    before = copy.deepcopy(net)
    perturbed(lift(net)).train()(torch.randn(2, 3, 2, 8)).sum().backward()
    assert_same(dict(net.state_dict()), dict(before.state_dict()), 0)
    for old, new in zip(before.modules(), net.modules(), strict=True):
        assert type(old) is type(new)
        assert old.training == new.training
        assert not new._forward_hooks
    for old, new in zip(before.parameters(), net.parameters(), strict=True):
        assert old.requires_grad == new.requires_grad
        assert new.grad is None


def test_modes_are_those_of_the_model():
    net = Net().eval()
    net.block.train()
    new = lift(net)
    assert not new.training
    assert new.model.block[0].message.training
    assert not new.model.stem.message.training


@pytest.mark.parametrize("scheme", ["aittala", "sridhar"])
def test_schemes_that_cannot_start_as_the_original_are_refused(scheme):
    with pytest.raises(ValueError, match=f"start as the original network, which '{scheme}' cannot"):
        lift(Net(), scheme)


def test_a_scheme_of_somebody_that_is_called_like_ours_is_refused():
    @register_scheme("dss-mine")
    def build(make, in_channels, out_channels, *, size):
        return DSS(make(in_channels, out_channels))

    try:
        with pytest.raises(ValueError, match="start as the original network, which 'dss-mine' can"):
            lift(Net(), "dss-mine")
    finally:
        unregister_scheme("dss-mine")


@pytest.mark.parametrize("scheme", ["dss", "dss-medain", "dss-siamese", "nonsense", None, 5])
def test_unknown_schemes_list_the_choices(scheme):
    with pytest.raises(ValueError, match=f"scheme must be one of .*'wreath'.*, got {scheme!r}"):
        lift(Net(), scheme)


def test_model_must_be_a_module():
    with pytest.raises(TypeError, match="model must be a module, got function"):
        lift(lambda x: x)


@pytest.mark.parametrize("scheme", ["dss-sum", "wreath", "attention", "siamese"])
def test_size_must_be_positive(scheme):
    with pytest.raises(ValueError, match=r"^size must be positive, got 0"):
        lift(Map(), scheme, size=0)


def test_sums_are_divided_by_size():
    net, x = lifted(nn.Linear(2, 2), size=4.0), dense(1, 4, 2)
    mean = copy.deepcopy(net)
    mean.model.message.pool = "mean"
    torch.testing.assert_close(net(x), mean(x))


# Later: a network for sets


@pytest.mark.parametrize("scheme", [*SCHEMES, "siamese"])
def test_perturbed_networks_keep_order_and_shifts(scheme):
    net = lifted(Map(), scheme)
    for x in (dense(2, 4, 2, 8), ragged()):
        assert_equivariant(net, x, symmetry=roll(3))
    assert_equivariant(lifted(Net(), scheme).eval(), ragged())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_linear_maps_of_tokens_keep_order_and_tokens(scheme):
    net = lifted(nn.Sequential(nn.Linear(2, 4), nn.ELU(), nn.Linear(4, 3)), scheme)
    x = RaggedSets(dense(6, 5, 2), [4, 0, 2])
    assert_equivariant(net, x, symmetry=lambda x: x[:, [3, 1, 4, 2, 0]])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_layer_hears_the_set(scheme):
    for name in ("first", "second", "third"):
        net = lift(Map().double(), scheme)
        perturbed(getattr(net.model, name).message)
        x = dense(1, 4, 2, 8)
        assert (net(x)[:, :1] - net(x[:, :1])).abs().max() > 1e-3


def test_siamese_never_hears_the_set():
    net, x = lifted(Map(), "siamese"), dense(1, 4, 2, 8)
    torch.testing.assert_close(net(x)[:, :1], net(x[:, :1]))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_ragged_equals_dense(scheme):
    net, x = lifted(Map(), scheme), ragged()
    out = net(x)
    for one, many in zip(x.to_list(), out.to_list(), strict=True):
        torch.testing.assert_close(net(one[None])[0], many, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_gradients_reach_originals_and_messages(scheme):
    for x in (dense(2, 3, 2, 8), ragged()):
        for name, gradient in gradients(lifted(Map(), scheme), x).items():
            assert gradient.abs().max() > 0, name


@pytest.mark.parametrize("scheme", ["dss-sum", "dss-median", "attention", "wreath"])
def test_gradcheck(scheme):
    net = lifted(nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1)), scheme)
    names, values = zip(*net.named_parameters(), strict=True)

    def run(x, *values):
        parameters = dict(zip(names, values, strict=True))
        return rows(torch.func.functional_call(net, parameters, RaggedSets(x, [2, 0, 1])))

    assert torch.autograd.gradcheck(run, (dense(3, 2).requires_grad_(), *values))


@pytest.mark.parametrize("scheme", ["dss-mean", "wreath", "attention"])
def test_messages_learn_in_the_first_step(scheme):
    net = lift(Map().double(), scheme)
    found = gradients(net, dense(2, 3, 2, 8))
    voices = [n for n in found if n.endswith(("message.context.weight", "value.weight", "beta"))]
    assert len(voices) == 3
    assert all(found[name].abs().max() > 0 for name in voices)


def test_messages_learn_where_the_original_is_frozen():
    net = Map()
    net.first.requires_grad_(False)
    new = lift(net)
    assert not new.model.first.weight.requires_grad
    assert new.model.first.message.context.weight.requires_grad
    new(torch.randn(1, 2, 2, 8)).sum().backward()
    assert new.model.first.weight.grad is None
    assert new.model.first.message.context.weight.grad.abs().max() > 0


# The model's own code


@pytest.mark.parametrize("x", [dense(2, 3, 2), RaggedSets(dense(6, 2), [4, 0, 2])])
def test_tuples_and_dictionaries_of_outputs_become_sets(x):
    def fn(self, x):
        hidden = self.a(x)
        return {"out": self.b(hidden), "more": [hidden, (x, "name", None)], "loss": hidden.sum()}

    net = lifted(Apply(fn, a=nn.Linear(2, 3), b=nn.Linear(3, 4)))
    out = net(x)
    assert type(out["out"]) is type(x)
    torch.testing.assert_close(rows(out["more"][1][0]), rows(x))
    assert out["more"][1][1:] == ("name", None)
    assert out["loss"].shape == ()
    torch.testing.assert_close(out["loss"], rows(out["more"][0]).sum())


def test_branches_and_further_arguments_are_the_models_own():
    net, x = lifted(Net()).eval(), dense(2, 3, 2, 8)
    assert net(x).shape == (2, 3, 3)
    assert net(x, False).shape == net(x, pooled=False).shape == (2, 3, 4, 8)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_output_size_of_a_transposed_convolution_is_passed_on(scheme):
    up = nn.ConvTranspose1d(2, 3, 3, stride=2)
    for fn in (lambda m, x: m.up(x, output_size=[18]), lambda m, x: m.up(x, [18])):
        assert lifted(Apply(fn, up=up), scheme)(dense(2, 3, 2, 8)).shape == (2, 3, 3, 18)


def test_a_layer_may_be_called_by_keyword():
    net = lifted(Apply(lambda m, x: m.a(input=x), a=nn.Linear(2, 2)))
    assert_equivariant(net, dense(2, 3, 2))


def test_a_graph_is_passed_on():
    graph = Graph(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]), num_nodes=4)
    model = Apply(lambda m, x, graph: m.b(F.elu(m.a(x, graph)), graph=graph))
    model.a, model.b = GraphConv(2, 3), GraphConv(3, 2)
    net = lifted(model, where=["a", "b"])
    assert_equivariant(net, dense(2, 3, 2, 4), graph, symmetry=roll(1))
    assert (net(dense(1, 3, 2, 4), graph)[0, 0] != 0).any()


def test_what_follows_may_work_in_place():
    for x in (dense(2, 3, 2, 8), ragged()):
        net = lifted(Map())
        chain = Sequential(net, nn.ReLU(inplace=True))
        plain = Sequential(net, nn.ReLU())
        assert_same(gradients(chain, x), gradients(plain, x))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("scheme", ["dss-sum", "attention", "wreath"])
def test_types_follow_the_model(scheme, dtype):
    x = torch.randn(2, 3, 2, 8, dtype=dtype)
    assert lift(Map().to(dtype), scheme)(x).dtype == dtype
    assert lift(Map(), scheme).to(dtype)(x).dtype == dtype


@pytest.mark.parametrize("scheme", ["dss-sum", "dss-max", "attention", "wreath"])
def test_autocast(scheme):
    net, x = perturbed(lift(Map(), scheme)), torch.randn(2, 3, 2, 8)
    with torch.autocast("cpu", torch.bfloat16):
        half = net(x)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), net(x), rtol=0.1, atol=0.1)  # eight bits
    half.float().sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in net.parameters())


def test_batch_norm_sees_all_elements_of_all_sets():
    net = Net()
    new = lift(net)
    x = torch.randn(2, 3, 2, 8)
    torch.testing.assert_close(new(x).flatten(0, 1), net(x.flatten(0, 1)))
    torch.testing.assert_close(new.model.block[1].running_mean, net.block[1].running_mean)
    new.eval()
    assert not new.model.stem.message.context.training
    torch.testing.assert_close(new(x).flatten(0, 1), net.eval()(x.flatten(0, 1)))


def test_function_transforms_see_through():
    net, x = lifted(Map()), dense(3, 2, 2, 2, 8)
    torch.testing.assert_close(torch.func.vmap(net)(x), torch.stack([net(one) for one in x]))
    parameters = dict(net.named_parameters())

    def loss(parameters):
        return torch.func.functional_call(net, parameters, x[0]).pow(2).sum()

    assert_same(torch.func.grad(loss)(parameters), gradients(net, x[0]))


# Checkpointing


# Torch warns that inside an outer reentrant checkpoint nothing requires a gradient at first.
@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("scheme", ["dss-sum", "attention", "wreath"])
def test_checkpointing_changes_no_gradient(scheme, reentrant, nested):
    net = lifted(Map(reentrant, nested), scheme)
    # Same total, different sets: only the right binding gives the right gradient.
    batches = [
        dense(2, 3, 2, 8),
        dense(3, 2, 2, 8),
        ragged((1, 5)),
        ragged((5, 0, 1)),
        ragged((4,)),
    ]
    for batch in batches:
        rows(batch).requires_grad_()  # reentrant checkpoints need it
    assert_same(gradients(net, *batches), gradients(without_checkpoints(net), *batches))


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing_with_products_of_calls_and_calls_on_outputs(reentrant):
    net = lifted(Map(reentrant))
    a, b = dense(2, 3, 2, 8).requires_grad_(), dense(3, 2, 2, 8).requires_grad_()

    def run(net):
        net.zero_grad()
        once = net(a)
        again = net(once.reshape(1, 6, 2, 8))
        (again.flatten() * net(b).flatten() * once.flatten()).sum().backward()
        return {name: p.grad.clone() for name, p in net.named_parameters()}

    assert_same(run(net), run(without_checkpoints(net)))


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing_where_the_loss_is_no_row(reentrant):
    net = lifted(Apply(lambda m, x: {"loss": m.map(x).pow(2).mean()}, map=Map(reentrant)))

    def run(net):
        net.zero_grad()
        loss = sum(net(x.requires_grad_())["loss"] for x in batches)
        loss.backward()
        return {name: p.grad.clone() for name, p in net.named_parameters()}

    batches = dense(2, 3, 2, 8), dense(3, 2, 2, 8)
    assert_same(run(net), run(without_checkpoints(net)))


@pytest.mark.parametrize("reentrant", [False, True])
def test_backward_in_another_thread(reentrant):
    net = lifted(Map(reentrant))
    a, b = dense(2, 3, 2, 8).requires_grad_(), dense(3, 2, 2, 8).requires_grad_()
    expected = gradients(without_checkpoints(net), a, b)
    net.zero_grad()
    loss = net(a).pow(2).sum() + net(b).pow(2).sum()
    in_thread(loss.backward)
    assert_same({name: p.grad for name, p in net.named_parameters()}, expected)


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_around_the_whole_network(reentrant):
    net = lifted(Map())

    def around(batch):
        return checkpoint(net, batch, use_reentrant=reentrant)

    a, b = dense(2, 3, 2, 8).requires_grad_(), dense(3, 2, 2, 8).requires_grad_()
    (around(a).pow(2).sum() + around(b).pow(2).sum()).backward()
    found = {name: p.grad.clone() for name, p in net.named_parameters()}
    assert_same(found, gradients(net, a, b))


def test_gradient_penalties_through_checkpoints():
    net, x = lifted(Map(False)), dense(2, 3, 2, 8).requires_grad_()

    def run(net):
        net.zero_grad()
        (slope,) = torch.autograd.grad(net(x).pow(2).sum(), x, create_graph=True)
        slope.pow(2).sum().backward()
        return {name: p.grad.clone() for name, p in net.named_parameters()}

    assert_same(run(net), run(without_checkpoints(net)))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing_on_a_device_changes_no_gradient(reentrant, nested):
    net = lifted(Map(reentrant, nested)).cuda()
    batches = [x.to("cuda") for x in (dense(2, 3, 2, 8), ragged((1, 5)), dense(3, 2, 2, 8))]
    for batch in batches:
        rows(batch).requires_grad_()
    assert_same(gradients(net, *batches), gradients(without_checkpoints(net), *batches))


# Threads


def in_thread(fn, *args):
    thread = threading.Thread(target=fn, args=args)
    thread.start()
    thread.join()


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


def test_an_error_leaves_no_binding_behind():
    net = lifted(Net())
    with pytest.raises(ValueError, match="layer 'stem' must get elements"):
        net(dense(2, 3, 5, 8))
    with pytest.raises(RuntimeError, match="layer 'stem' belongs to a lifted network: call the"):
        net.model(dense(6, 2, 8))


def test_a_backward_pass_leaves_no_binding_behind():
    net = lifted(Map(False))
    gradients(net, dense(2, 3, 2, 8))
    with pytest.raises(RuntimeError, match="layer 'first' belongs to a lifted network"):
        net.model(dense(6, 2, 8))


# Sets of sets


def test_set_layers_work_around_a_lifted_network():
    inner = lifted(Map())
    x = dense(2, 4, 3, 2, 8)  # two sets of four sets of three signals
    out = Siamese(inner)(x)
    torch.testing.assert_close(out[1], inner(x[1]))
    around = DSS(inner, lifted(Map(), "dss-max"))
    assert_equivariant(around, x, symmetry=roll(3))

    def inner_order(x):
        return x[:, [2, 0, 1]]

    assert equivariance_error(around, x, symmetry=inner_order) < 1e-9


def test_a_lifted_network_inside_the_model_of_another():
    inner = lifted(Map())
    model = Apply(lambda m, x: m.last(m.inner(x).mean(1)), inner=inner, last=circular(2, 2))
    net, x = lifted(model), dense(2, 4, 3, 2, 8)  # two sets of four sets of three signals
    assert net.model.inner.model.first._binding is net.model.inner._binding
    assert net.model.last._binding is net._binding
    assert net(x).shape == (2, 4, 2, 8)
    assert_equivariant(net, x, symmetry=lambda x: x[:, [1, 2, 0]], output_symmetry=lambda x: x)
    net.load_element_state_dict(model.state_dict())
    with_inner_checkpoints = copy.deepcopy(net)
    with_inner_checkpoints.model.inner.model.reentrant = False
    assert_same(gradients(with_inner_checkpoints, x), gradients(net, x))


def test_the_insides_of_set_layers_stay_as_they_are():
    net = lift(nn.Sequential(DSS(nn.Linear(2, 2)), nn.Linear(2, 2)))
    assert type(net.model[0].element) is nn.Linear
    assert type(net.model[1]) is not nn.Linear
    with pytest.raises(
        ValueError, match=r"layer '0.element' cannot be lifted: it is, or is inside"
    ):
        lift(nn.Sequential(DSS(nn.Linear(2, 2))), where=["0.element"])
    with pytest.raises(ValueError, match="got Sequential without one"):
        lift(nn.Sequential(DSS(nn.Linear(2, 2))))


def test_lifting_twice_is_refused():
    with pytest.raises(ValueError, match="single elements, got one lifted already"):
        lift(lift(Net()))
    with pytest.raises(ValueError, match="layer 'stem' cannot be lifted: it is lifted already"):
        lift(lift(Net()).model)


# Copies, files


@pytest.mark.parametrize("scheme", ["dss-sum", "attention", "wreath"])
def test_copies_are_independent(scheme):
    net, x = lifted(Map(), scheme), dense(2, 3, 2, 8)
    before = net(x)
    twin = copy.deepcopy(net)
    assert repr(twin) == repr(net)
    assert twin._binding is not net._binding
    assert twin.model.first._binding is twin.model.third._binding is twin._binding
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


def test_state_goes_through_safetensors():
    net, x = lifted(Net()).eval(), dense(2, 3, 2, 8)
    file = save_safetensors(net.state_dict())
    other = lift(Net().double()).eval()
    other.load_state_dict(load_safetensors(file))
    torch.testing.assert_close(other(x), net(x), rtol=0, atol=0)


def test_the_originals_weights_load_by_their_own_names():
    net, trained = lift(Net().eval()), perturbed(Net().eval())
    net.load_element_state_dict(trained.state_dict())
    x = torch.randn(2, 3, 2, 8)
    torch.testing.assert_close(net(x)[1], trained(x[1]))


def test_loading_keeps_what_the_messages_have_learned():
    net = lifted(Map())
    before = net.model.first.message.context.weight.clone()
    net.load_element_state_dict(Map().double().state_dict())
    torch.testing.assert_close(net.model.first.message.context.weight, before)


def test_wrong_names_are_told_before_anything_is_loaded():
    net = lift(Map())
    before = copy.deepcopy(net.state_dict())
    wrong = {f"module.{name}": value for name, value in Map().state_dict().items()}
    with pytest.raises(
        ValueError,
        match=r"original network, got unexpected \['module.first.bias', .*, … 3 more\] and missing",
    ):
        net.load_element_state_dict(wrong)
    partial = dict(Map().state_dict())
    del partial["third.bias"]
    with pytest.raises(ValueError, match=r"unexpected \[\] and missing \['third.bias'\]"):
        net.load_element_state_dict(partial)
    with pytest.raises(ValueError, match=r"unexpected \['first.message"):
        net.load_element_state_dict(net.model.state_dict())
    assert_same(dict(net.state_dict()), dict(before), 0)


def test_a_part_called_message_is_a_part_like_any_other():
    net = lift(Apply(lambda m, x: m.message(x), message=nn.Linear(2, 2)))
    with pytest.raises(ValueError, match=r"missing \['message.bias', 'message.weight'\]"):
        net.load_element_state_dict({})


# Sharing


def test_a_module_with_two_names_becomes_one():
    shared = nn.Linear(2, 2)
    model = Apply(lambda m, x: m.b(F.elu(m.a(x))), a=shared, b=shared)
    for where in (None, ["a"], ["b"], ["b", "a"]):
        net = lifted(model, where=where)
        assert net.model.a is net.model.b
        assert len(list(net.parameters())) == 3
        assert_equivariant(net, dense(2, 3, 2))
    net.load_element_state_dict(model.state_dict())


def test_tied_parameters_stay_tied():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    net = lift(model)
    assert net.model[0].weight is net.model[1].weight
    first, second = (net.model[k].message.context.weight for k in range(2))
    assert first.data_ptr() != second.data_ptr()
    assert copy.deepcopy(net).model[0].weight.data_ptr() != net.model[0].weight.data_ptr()


def test_lifted_layers_still_show_what_they_are():
    net = lift(nn.Sequential(nn.Linear(2, 3), nn.Flatten(), nn.Linear(3, 1, bias=False)))
    assert isinstance(net.model[0], nn.Linear)
    assert net.model[0].in_features == 2
    assert net.model[0].weight.shape == (3, 2)
    assert net.model[2].bias is None
    assert "in_features=2, out_features=3, bias=True, + context(Σ_j x_j)" in repr(net)
    assert "scheme='dss-sum'" in repr(net)


# Transformers


def encoder(**options):
    options = {"batch_first": True, "dropout": 0.0, **options}
    return nn.TransformerEncoderLayer(4, 2, 8, **options)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm_first", [False, True])
def test_evaluation_does_not_pass_the_lifted_layers_by(activation, norm_first):
    net = lifted(encoder(activation=activation, norm_first=norm_first))
    x = dense(2, 3, 5, 4)
    train = net.train()(x)
    with torch.no_grad():
        torch.testing.assert_close(net.eval()(x), train)
    assert_equivariant(net, x)


def test_evaluation_with_padded_tokens_does_not_pass_the_lifted_layers_by():
    net = lifted(nn.TransformerEncoder(encoder(), 2))
    x, mask = dense(2, 3, 5, 4), torch.zeros(6, 5, dtype=torch.bool)
    mask[:, 4] = True
    train = net.train()(x, src_key_padding_mask=mask)
    with torch.no_grad():
        out = net.eval()(x, src_key_padding_mask=mask)
    torch.testing.assert_close(out[:, :, :4], train[:, :, :4])


def test_transformers_left_alone_keep_their_fast_path():
    model = nn.Sequential(nn.Linear(4, 4), encoder())
    assert lift(model, where=["0"]).model[1].activation_relu_or_gelu
    assert not lift(model).model[1].activation_relu_or_gelu
    assert model[1].activation_relu_or_gelu


def test_decoders_are_lifted():
    model = nn.TransformerDecoderLayer(4, 2, 8, batch_first=True, dropout=0.0)
    net = lifted(Apply(lambda m, x: m.decoder(x, x), decoder=model))
    assert_equivariant(net, dense(2, 3, 5, 4))


def test_the_insides_of_attention_stay_per_element():
    net = lift(encoder())
    assert type(net.model.linear1).__name__ == "LiftedLinear"
    assert not type(net.model.self_attn.out_proj).__name__.startswith("Lifted")
    for name in ("self_attn.out_proj", "self_attn"):
        with pytest.raises(ValueError, match=f"layer '{name}' cannot be lifted: .*Multihead"):
            lift(encoder(), where=[name])


def test_sequences_first_are_refused():
    with pytest.raises(ValueError, match=r"layer '1' must have batch_first=True, .* where="):
        lift(nn.Sequential(nn.Linear(4, 4), encoder(batch_first=False)))
    lift(nn.Sequential(nn.Linear(4, 4), encoder(batch_first=False)), where=["0"])


# Which layers


def test_rows_that_are_no_elements_are_refused():
    def windows(self, x):
        return self.a(self.b(x.reshape(-1, 1))).reshape(len(x), -1)

    model = Apply(windows, a=nn.Linear(3, 1), b=nn.Linear(1, 3))
    with pytest.raises(
        ValueError, match=r"layer 'b' must get one row per element, 6, got 12 .* with where="
    ):
        lift(model)(torch.randn(2, 3, 2))


def test_where_picks_by_name_and_by_function():
    for where in (["first"], {"first"}, lambda name, module: module.in_channels == 2):
        net = lift(Map(), where=where)
        kinds = [type(layer).__name__ for layer in net.model.children()]
        assert kinds == ["LiftedConv1d", "Conv1d", "Conv1d"]


def test_where_names_may_be_other_maps_of_single_elements():
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2))

        def reset_parameters(self):
            nn.init.normal_(self.weight)

        def forward(self, x):
            return x * self.weight

    net = lifted(nn.Sequential(Scale()), where=["0"])
    assert "message" in dict(net.model[0].named_children())
    assert_equivariant(net, dense(2, 3, 2))
    with pytest.raises(
        ValueError, match=r"layer '0' cannot be lifted \(in_channels and out_channels"
    ):
        lift(nn.Sequential(Scale()), "wreath", where=["0"])


class Block(nn.Module):
    """A map of single elements that is made of several layers."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 6), nn.Linear(6, 4)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))


@pytest.mark.parametrize("scheme", ["dss-mean", "dss-power2", "attention"])
def test_the_messages_of_whole_blocks_start_at_zero_and_learn(scheme):
    torch.manual_seed(0)
    block = Block()
    net = lift(nn.Sequential(block), scheme, where=["0"])
    x = torch.randn(8, 5, 3)
    torch.testing.assert_close(net(x), block(x))
    optimiser = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(2):
        optimiser.zero_grad()
        (net(x) - x.mean(1, keepdim=True).sum(2, keepdim=True)).square().mean().backward()
        optimiser.step()
    voice = net.model[0].message.value if scheme == "attention" else net.model[0].message.context
    assert all(bool((p.grad != 0).any()) for p in voice.parameters())
    assert "LiftedBlock(\n      + " in repr(net)


def test_where_must_make_sense():
    with pytest.raises(TypeError, match="where must be a list of names or a function, got 5"):
        lift(Map(), where=5)
    with pytest.raises(ValueError, match=r"where must name modules of the network, got \['no'\]"):
        lift(Map(), where=["first", "no"])
    with pytest.raises(TypeError, match=r"where must be a list of names .* got the string 'first'"):
        lift(Map(), where="first")
    for where in ([], lambda name, module: False):
        with pytest.raises(ValueError, match="got Map without one that where= picks"):
            lift(Map(), where=where)
    with pytest.raises(ValueError, match="layer '0' cannot be lifted: it is a container"):
        lift(nn.Sequential(nn.Sequential(nn.Linear(2, 2))), where=["0"])
    with pytest.raises(ValueError, match="layer '1' cannot be lifted: it has no parameters"):
        lift(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), where=["1"])


def test_models_that_cannot_be_lifted_say_so():
    with pytest.raises(
        ValueError, match=r"must have a convolution or linear map .* got ReLU without"
    ):
        lift(nn.ReLU())
    assert lift(nn.ReLU(), "siamese")(torch.ones(1, 2, 3)).shape == (1, 2, 3)
    with pytest.raises(ValueError, match="layer '0' cannot be lifted: it must know its shape"):
        lift(nn.Sequential(nn.LazyLinear(2)))


@pytest.mark.parametrize("scheme", ["dss-sum", "attention", "wreath"])
def test_parametrised_layers_are_refused(scheme):
    normed = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)), nn.Linear(2, 2))
    with pytest.raises(ValueError, match="layer '0' cannot be lifted: it is parametrised"):
        lift(normed, scheme)
    assert_equivariant(perturbed(lift(normed, scheme, where=["1"])), dense(2, 3, 2))


def test_layers_without_a_twin_are_named():
    class Odd(nn.Linear):
        def reset_parameters(self):
            if not hasattr(self, "made"):
                self.made = True
                super().reset_parameters()

    with pytest.raises(
        ValueError, match=r"layer 'a' cannot be lifted \(element must .*\): leave it"
    ):
        lift(Apply(None, a=Odd(2, 2)))


# Compiling


@pytest.mark.parametrize("scheme", ["dss-sum", "attention", "wreath"])
def test_compiled_networks_agree_in_value_and_gradient(scheme):
    net = lifted(nn.Sequential(circular(2, 2), nn.BatchNorm1d(2), nn.ELU(), circular(2, 1)), scheme)
    check_compiled(net.eval(), "aot_eager", dense(2, 3, 2, 8), dense(2, 5, 2, 8))


@pytest.mark.slow
def test_inductor_agrees_in_value_and_gradient():
    net = lifted(nn.Sequential(nn.Linear(2, 3), nn.ELU(), nn.Linear(3, 1)))
    check_compiled(net, "inductor", dense(2, 3, 2))


def check_compiled(net, backend, *batches):
    torch._dynamo.reset()
    compiled = torch.compile(net, backend=backend, fullgraph=True)
    for x in batches:
        expected = gradients(net, x)
        net.zero_grad()
        out = compiled(x)
        torch.testing.assert_close(out, net(x), rtol=1e-9, atol=1e-9)
        out.pow(2).sum().backward()
        assert_same({name: p.grad for name, p in net.named_parameters()}, expected, 1e-9)


def test_a_class_is_no_function_of_a_name_and_a_module():
    with pytest.raises(TypeError, match="got the class Linear"):
        lift(nn.Sequential(nn.Linear(3, 3)), where=nn.Linear)


@pytest.mark.parametrize("scheme", ["dss-sum", "siamese"])
def test_sets_of_another_shape_or_type_get_a_sentence(scheme):
    net = lift(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), scheme=scheme)
    with pytest.raises(ValueError, match=r"\(B, N, 3, H, W\) for the Conv2d in Lifted, got \(2, 3"):
        net(torch.zeros(2, 3, 8, 8))  # pictures instead of sets of pictures
    with pytest.raises(TypeError, match=r"torch.float32 like the Conv2d.*, got torch.uint"):
        net(torch.zeros(2, 5, 3, 8, 8, dtype=torch.uint8))


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


# Layers that are not what they seem


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


def test_a_layer_with_a_forward_of_its_own_is_named():
    net = nn.Sequential(nn.Linear(2, 3))
    net[0].forward = F.relu
    with pytest.raises(ValueError, match="layer '0' cannot be lifted: it has a forward of its own"):
        lift(net)


class Affine(nn.Module):
    def __init__(self, inplace=False):
        super().__init__()
        self.activation, self.map = nn.SiLU(inplace), nn.Linear(2, 2).double()

    def forward(self, x, shift=0.0, scale=1.0, *, root=False):
        y = self.map(self.activation(x)) * scale + shift
        return y.sqrt() if root else y


def loud(net):
    """Let the message of a lifted block be heard."""
    nn.init.ones_(net.model.block.message.context.scale)
    return net


def test_names_of_arguments_reach_the_message():
    net = loud(lift(Apply(lambda m, x, **k: m.block(x, **k), block=Affine()), where=["block"]))
    x = dense(2, 3, 2)
    torch.testing.assert_close(net(x, scale=3.0), 3 * net(x))
    with pytest.raises(TypeError, match=r"layer 'block' must be able .* got \['root'\] by name"):
        net(x, root=True)


@pytest.mark.parametrize("scheme", ["dss-sum", "dss-max"])
def test_a_block_that_works_in_place_says_the_same(scheme):
    net = Apply(lambda m, x: m.block(x.clone()), block=Affine())
    new, x = loud(lift(net, scheme, where=["block"])), dense(2, 3, 2)
    expected = new(x)
    new.model.block.activation.inplace = True
    torch.testing.assert_close(new(x), expected)


@pytest.mark.parametrize("names", [["block", "block.map"], ["block.map", "block"]])
def test_a_block_and_a_layer_inside_may_both_be_lifted(names):
    net = Apply(lambda m, x: m.block(x), block=Affine())
    new, x = lift(net, where=names), dense(2, 3, 2)
    torch.testing.assert_close(new(x)[1], net(x[1]))


def test_further_arguments_are_rows():
    net, x = lifted(Apply(lambda m, x, y: m.a(x) + y, a=nn.Linear(2, 3))), dense(2, 3, 2)
    rows = dense(6, 3)
    torch.testing.assert_close(net(x, rows) - net(x, 0 * rows), rows.unflatten(0, (2, 3)))
    with pytest.raises(TypeError, match="must be rows, one per element, got RaggedSets"):
        net(x, RaggedSets(rows, [3, 3]))


class Reads(nn.Module):
    """A network that reads the weights of one of its layers, as windowed attention does."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        return F.linear(self.first(x), self.second.weight, self.second.bias)


def test_the_first_call_names_layers_that_the_network_does_not_call():
    lifted, x = lift(Reads()), torch.randn(2, 3, 3)
    with pytest.warns(UserWarning, match=r"did not reach the lifted layers \['second'\].*where="):
        lifted(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lifted(x)
        lift(Reads(), where=["first"])(x)
        lift(Net())(torch.randn(2, 3, 2, 8))


def test_a_layer_that_is_parametrised_is_saved_by_its_weights():
    lifted = lift(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), "dss-max")
    nn.utils.parametrizations.orthogonal(lifted.model[0])
    x = torch.randn(2, 5, 3)
    torch.testing.assert_close(copy.deepcopy(lifted)(x), lifted(x))
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        torch.save(lifted, io.BytesIO())


class Locked(nn.Linear):
    """A map that keeps what cannot be saved, and does without it."""

    def __init__(self):
        super().__init__(3, 4)
        self.lock = threading.Lock()

    def __getstate__(self):
        return self.__dict__ | {"lock": None}


def test_a_layer_keeps_its_own_way_to_be_copied():
    lifted, x = lift(Locked()), torch.randn(2, 5, 3)
    lifted.model.lock = threading.Lock()
    torch.testing.assert_close(copy.deepcopy(lifted)(x), lifted(x))


@pytest.mark.parametrize("scheme", [*SCHEMES, "siamese"])
def test_message_parameters_are_those_that_the_original_has_not(scheme):
    model = Map()
    model.third = model.first = circular(2, 2)  # one layer with two names
    net = lift(model, scheme)
    added = list(net.message_parameters())
    assert len(added) == len(list(net.parameters())) - len(list(model.parameters()))
    assert bool(added) == (scheme != "siamese")
    net.requires_grad_(False)
    for parameter in added:
        parameter.requires_grad_(True)
    assert not any(p.requires_grad for n, p in net.named_parameters() if ".message." not in n)


def test_the_scale_of_a_lifted_block_is_a_message_parameter():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(3, 3)

        def forward(self, x):
            return x + torch.relu(self.inner(x))

    net = lift(nn.Sequential(Block(), nn.Linear(3, 2)), "dss-mean", where=["0"])
    assert sorted(tuple(p.shape) for p in net.message_parameters()) == [(), (3,), (3, 3)]
