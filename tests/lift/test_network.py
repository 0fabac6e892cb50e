import copy
import warnings
from dataclasses import dataclass

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
)
from safetensors.torch import load as load_safetensors
from safetensors.torch import save as save_safetensors
from torch import nn

from symsets import DSS, RaggedSets, Sequential, Siamese, lift, register_scheme
from symsets.nn.registry import unregister_scheme
from symsets.testing import assert_equivariant, roll


def encoder(**options):
    options = {"batch_first": True, "dropout": 0.0, **options}
    return nn.TransformerEncoderLayer(4, 2, 8, **options)


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


def test_batch_norm_sees_all_elements_of_all_sets():
    model = Net()
    net, x = lift(model), torch.randn(2, 3, 2, 8)
    torch.testing.assert_close(net(x).flatten(0, 1), model(x.flatten(0, 1)))
    torch.testing.assert_close(net.model.block[1].running_mean, model.block[1].running_mean)


def test_sums_are_divided_by_size():
    net, x = lifted(nn.Linear(2, 2), size=4.0), dense(1, 4, 2)
    mean = copy.deepcopy(net)
    mean.model.message.pool = "mean"
    torch.testing.assert_close(net(x), mean(x))


@pytest.mark.parametrize("scheme", [*SCHEMES, "siamese"])
def test_perturbed_networks_keep_order_and_shifts(scheme):
    net = lifted(Map(), scheme)
    for x in (dense(2, 4, 2, 8), ragged()):
        assert_equivariant(net, x, symmetry=roll(3))
    assert_equivariant(lifted(Net(), scheme).eval(), ragged())
    tokens = RaggedSets(dense(6, 5, 2), [4, 0, 2])
    net = lifted(nn.Sequential(nn.Linear(2, 4), nn.ELU(), nn.Linear(4, 3)), scheme)
    assert_equivariant(net, tokens, symmetry=lambda x: x[:, [3, 1, 4, 2, 0]])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_ragged_equals_dense(scheme):
    net, x = lifted(Map(), scheme), ragged()
    out = net(x)
    for one, many in zip(x.to_list(), out.to_list(), strict=True):
        torch.testing.assert_close(net(one[None])[0], many, rtol=1e-12, atol=1e-12)


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


def test_function_transforms_see_through():
    net, x = lifted(Map()), dense(3, 2, 2, 2, 8)
    torch.testing.assert_close(torch.func.vmap(net)(x), torch.stack([net(one) for one in x]))
    parameters = dict(net.named_parameters())

    def loss(parameters):
        return torch.func.functional_call(net, parameters, x[0]).pow(2).sum()

    assert_same(torch.func.grad(loss)(parameters), gradients(net, x[0]))


def test_set_layers_work_around_a_lifted_network():
    inner = lifted(Map())
    x = dense(2, 4, 3, 2, 8)  # two sets of four sets of three signals
    torch.testing.assert_close(Siamese(inner)(x)[1], inner(x[1]))
    around = DSS(inner, lifted(Map(), "dss-max"))
    for symmetry in (roll(3), lambda x: x[:, [2, 0, 1]]):
        assert_equivariant(around, x, symmetry=symmetry)


def test_a_lifted_network_inside_the_model_of_another():
    inner = lifted(Map())
    model = Apply(lambda m, x: m.last(m.inner(x).mean(1)), inner=inner, last=circular(2, 2))
    net, x = lifted(model), dense(2, 4, 3, 2, 8)  # two sets of four sets of three signals
    assert net.model.inner.model.first._current is net.model.inner._current
    assert net.model.last._current is net._current
    assert net(x).shape == (2, 4, 2, 8)
    assert_equivariant(net, x, symmetry=lambda x: x[:, [1, 2, 0]], output_symmetry=lambda x: x)
    net.load_element_state_dict(model.state_dict())
    with_inner_checkpoints = copy.deepcopy(net)
    with_inner_checkpoints.model.inner.model.reentrant = False
    assert_same(gradients(with_inner_checkpoints, x), gradients(net, x))


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
    own = lift(Apply(lambda m, x: m.message(x), message=nn.Linear(2, 2)))  # of the original
    with pytest.raises(ValueError, match=r"missing \['message.bias', 'message.weight'\]"):
        own.load_element_state_dict({})
    assert_same(dict(net.state_dict()), dict(before), 0)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm_first", [False, True])
def test_transformers_call_lifted_layers_in_evaluation(activation, norm_first):
    net = lifted(encoder(activation=activation, norm_first=norm_first))
    x = dense(2, 3, 5, 4)
    train = net.train()(x)
    with torch.no_grad():
        torch.testing.assert_close(net.eval()(x), train)
    assert_equivariant(net, x)


def test_transformers_with_padded_tokens_call_lifted_layers_in_evaluation():
    net = lifted(nn.TransformerEncoder(encoder(), 2))
    x, mask = dense(2, 3, 5, 4), torch.zeros(6, 5, dtype=torch.bool)
    mask[:, 4] = True
    train = net.train()(x, src_key_padding_mask=mask)
    with torch.no_grad():
        out = net.eval()(x, src_key_padding_mask=mask)
    torch.testing.assert_close(out[:, :, :4], train[:, :, :4])


def test_where_picks_by_name_and_by_function():
    for where in (["first"], {"first"}, lambda name, module: module.in_channels == 2):
        net = lift(Map(), where=where)
        kinds = [type(layer).__name__ for layer in net.model.children()]
        assert kinds == ["LiftedConv1d", "Conv1d", "Conv1d"]


def assert_compiled_agrees(net, *inputs, **options):
    torch._dynamo.reset()
    compiled = torch.compile(net, fullgraph=True, **options)
    for x in inputs:
        expected = gradients(net, x)
        net.zero_grad()
        out = compiled(x)
        torch.testing.assert_close(out, net(x), rtol=1e-9, atol=1e-9)
        out.pow(2).sum().backward()
        assert_same({name: p.grad for name, p in net.named_parameters()}, expected, 1e-9)


@pytest.mark.no_cover  # dear, and other tests cover the same lines
@pytest.mark.parametrize("scheme", ["dss-sum", "wreath"])
def test_compiled_networks_agree_in_value_and_gradient(scheme):
    net = lifted(nn.Sequential(circular(2, 2), nn.BatchNorm1d(2), nn.ELU(), circular(2, 1)), scheme)
    sets = dense(2, 3, 2, 8), dense(2, 5, 2, 8)
    assert_compiled_agrees(net.eval(), *sets, backend="aot_eager")


@pytest.mark.slow
@pytest.mark.no_cover
def test_networks_compiled_to_machine_code_agree_for_sets_of_any_size():
    net = lifted(nn.Sequential(nn.Linear(6, 4), nn.ELU(), nn.Linear(4, 2)))
    # One program for all sizes: the compiler of C++ takes seconds for each.
    with torch._dynamo.config.patch(error_on_recompile=True):
        sets = dense(2, 3, 6), dense(5, 7, 6)
        assert_compiled_agrees(net, *sets, backend="inductor", dynamic=True)


@pytest.mark.parametrize("scheme", ["dss-sum", "siamese"])
def test_sets_of_another_shape_or_type_are_refused(scheme):
    net = lift(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), scheme=scheme)
    with pytest.raises(ValueError, match=r"\(B, N, 3, H, W\) for the Conv2d in Lifted, got \(2, 3"):
        net(torch.zeros(2, 3, 8, 8))  # pictures instead of sets of pictures
    with pytest.raises(TypeError, match=r"torch.float32 like the Conv2d.*, got torch.uint"):
        net(torch.zeros(2, 5, 3, 8, 8, dtype=torch.uint8))


def test_further_arguments_are_rows_or_the_models_own():
    net, x = lift(Net()), torch.randn(2, 3, 2, 8)
    assert [net(x).shape, net(x, pooled=False).shape] == [(2, 3, 3), (2, 3, 4, 8)]
    net, x = lifted(Apply(lambda m, x, y: m.a(x) + y, a=nn.Linear(2, 3))), dense(2, 3, 2)
    rows = dense(6, 3)
    torch.testing.assert_close(net(x, rows) - net(x, 0 * rows), rows.unflatten(0, (2, 3)))


class Reads(nn.Module):
    """A network that reads the weights of one of its layers, as windowed attention does."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        return F.linear(self.first(x), self.second.weight, self.second.bias)


def test_the_first_call_names_layers_that_the_network_does_not_call():
    net, x = lift(Reads()), torch.randn(2, 3, 3)
    with pytest.warns(UserWarning, match=r"did not reach the lifted layers \['second'\].*where="):
        net(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net(x)
        lift(Reads(), where=["first"])(x)
        lift(Net())(torch.randn(2, 3, 2, 8))


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


@pytest.mark.parametrize(
    "scheme", ["aittala", "sridhar", "dss-own", "dss", "dss-medain", "dss-siamese", None, 5]
)
def test_schemes_that_cannot_start_as_the_original_are_refused(scheme):
    @register_scheme("dss-own")
    def build(make, in_channels, out_channels, *, size):
        return DSS(make(in_channels, out_channels))

    try:
        with pytest.raises(ValueError, match=r"scheme must be one of .*'wreath'.*, got") as error:
            lift(Net(), scheme)
    finally:
        unregister_scheme("dss-own")
    assert str(error.value).endswith(f"the original network, got {scheme!r}")
    assert "'siamese'" in str(error.value)
    assert "'aittala'," not in str(error.value)


def with_own_forward():
    layer = nn.Linear(2, 3)
    layer.forward = F.relu
    return layer


class Odd(nn.Linear):
    """A layer that cannot be initialised a second time."""

    def reset_parameters(self):
        if not hasattr(self, "made"):
            self.made = True
            super().reset_parameters()


CHAIN = nn.Sequential(nn.Sequential(nn.Linear(2, 2)), nn.ReLU(), DSS(nn.Linear(2, 2)))
NORMED = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))


@pytest.mark.parametrize(
    ("model", "where", "message"),
    [
        (nn.ReLU(), None, "must have a convolution or linear map .* got ReLU without one$"),
        (nn.Sequential(DSS(nn.Linear(2, 2))), None, "got Sequential without one$"),
        (Map(), [], "got Map without one that where= picks"),
        (Map(), lambda name, module: False, "got Map without one that where= picks"),
        (Map(), ["first", "no"], r"where must name modules of the network, got \['no'\]"),
        (CHAIN, ["0"], "layer '0' cannot be lifted: it is a container"),
        (CHAIN, ["1"], "layer '1' cannot be lifted: it has no parameters"),
        (CHAIN, ["2.element"], "layer '2.element' cannot be lifted: it is, or is inside, a set"),
        (encoder(), ["self_attn"], "layer 'self_attn' cannot be lifted: .*Multihead"),
        (encoder(), ["self_attn.out_proj"], "layer 'self_attn.out_proj' cannot be lifted"),
        (encoder(batch_first=False), None, "must have batch_first=True, .* where="),
        (nn.Sequential(nn.LazyLinear(2)), None, "layer '0' cannot .* it must know its shape"),
        (nn.Sequential(NORMED), None, "layer '0' cannot be lifted: it is parametrised"),
        (with_own_forward(), None, "cannot be lifted: it has a forward of its own"),
        (Apply(None, a=Odd(2, 2)), None, r"layer 'a' cannot be lifted \(element must .*\): leave"),
        (lift(Net()), None, "single elements, got one lifted already"),
        (lift(Net()).model, None, "layer 'stem' cannot be lifted: it is lifted already"),
    ],
)
def test_what_cannot_be_lifted_is_named(model, where, message):
    with pytest.raises(ValueError, match=message):
        lift(model, where=where)


def test_layers_inside_set_modules_and_attention_are_left_alone():
    net = lift(nn.Sequential(CHAIN, encoder()))
    assert (
        type(net.model[0][0][0]).__name__ == type(net.model[1].linear1).__name__ == "LiftedLinear"
    )
    assert type(net.model[0][2].element) is nn.Linear
    assert not type(net.model[1].self_attn.out_proj).__name__.startswith("Lifted")


def test_wrong_arguments_are_named():
    with pytest.raises(TypeError, match="model must be a module, got function"):
        lift(lambda x: x)
    for scheme in ("dss-sum", "siamese"):
        with pytest.raises(ValueError, match=r"^size must be positive, got 0"):
            lift(Map(), scheme, size=0)


def test_loading_keeps_what_the_messages_have_learned():
    net = lifted(Map())
    before = net.model.first.message.context.weight.clone()
    net.load_element_state_dict(Map().double().state_dict())
    torch.testing.assert_close(net.model.first.message.context.weight, before)


def test_tied_parameters_stay_tied():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    net = lift(model)
    assert net.model[0].weight is net.model[1].weight
    first, second = (net.model[k].message.context.weight for k in range(2))
    assert first.data_ptr() != second.data_ptr()
    assert copy.deepcopy(net).model[0].weight.data_ptr() != net.model[0].weight.data_ptr()


def test_transformers_left_alone_keep_their_fast_path():
    encoder = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, dropout=0.0)
    model = nn.Sequential(nn.Linear(4, 4), encoder)
    assert lift(model, where=["0"]).model[1].activation_relu_or_gelu
    assert not lift(model).model[1].activation_relu_or_gelu
    assert model[1].activation_relu_or_gelu


def test_decoders_are_lifted():
    model = nn.TransformerDecoderLayer(4, 2, 8, batch_first=True, dropout=0.0)
    net = lifted(Apply(lambda m, x: m.decoder(x, x), decoder=model))
    assert_equivariant(net, dense(2, 3, 5, 4))


@dataclass
class Output:
    rows: torch.Tensor


def test_an_output_in_which_rows_cannot_become_sets_is_refused():
    class Net(nn.Linear):
        def forward(self, x):
            return Output(super().forward(x))

    lifted = lift(nn.Sequential(nn.Linear(4, 4), Net(4, 2)), where=["0"])
    with pytest.raises(TypeError, match="network must return tensors, or tuples"):
        lifted(torch.randn(2, 3, 4))
