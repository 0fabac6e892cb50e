import json
from itertools import pairwise

import pytest
import torch
from torch import nn

from symsets import RaggedSets
from symsets.experiments.shapes.network import KINDS, ShapeNetwork
from symsets.groups import Symmetric
from symsets.models import build
from symsets.models._blocks import MODELS, RECIPES
from symsets.nn import Graph
from symsets.testing import assert_equivariant
from symsets.train.ensemble import Ensemble

PARAMETERS = {  # of the released networks, in thousands
    "siamese-ds": 117.0,
    "sridhar": 117.0,
    "dss-sum": 167.7,
    "dss-max": 167.7,
    "aittala": 134.0,
}
FACES = torch.tensor([[0, 1, 2], [2, 1, 3], [3, 4, 5]])
V = 6
GRAPH = Graph.from_faces(FACES, V)
ORDER = torch.tensor([2, 5, 0, 4, 1, 3])  # new node k is old node ORDER[k]
MOVED = Graph.from_faces(ORDER.argsort()[FACES], V)
EVERY = pytest.mark.parametrize(
    ("model", "kind", "recipe"), [(m, k, r) for m in MODELS for k in KINDS for r in RECIPES]
)


def count(net):
    return sum(p.numel() for p in net.parameters())


def small(model, kind="points", recipe="ours", **options):
    return ShapeNetwork(model, kind=kind, recipe=recipe, widths=(4, 6, 8), **options)


def graph_of(net, graph=GRAPH):
    return (graph,) if net.needs_graph else ()


def warmed(net):
    """Give batch normalisation something to remember, then evaluate in float64."""
    net = net.double().train()
    with torch.no_grad():
        net(torch.randn(6, 4, 3, V, dtype=torch.float64), *graph_of(net))
    return net.eval()


@pytest.mark.parametrize("kind", ["points", "graphs"])
@pytest.mark.parametrize("model", PARAMETERS)
def test_published_networks_have_the_released_parameter_counts(model, kind):
    assert (
        round(count(ShapeNetwork(model, kind=kind, recipe="published")) / 1e3, 1)
        == (PARAMETERS[model])
    )


def test_the_count_is_that_of_maps_biases_and_normalisations():
    def block(widths):
        return sum(i * o + o for i, o in pairwise(widths))

    deepsets = 2 * block([128, 128, 128, 1])
    points, norms = block([3, 64, 256, 128]), 2 * (64 + 256 + 128)
    expected = {
        "siamese-ds": points + norms + deepsets,
        "dss-sum": 2 * (points + norms) + deepsets,
        # the maps read what the layer before concatenated, and normalisation sees it, too
        "aittala": (3 * 64 + 64) + (128 * 256 + 256) + (512 * 64 + 64)
        + 2 * (128 + 512 + 128) + deepsets,
    }  # fmt: skip
    assert expected == {"siamese-ds": 116_994, "dss-sum": 167_682, "aittala": 133_954}
    for model, number in expected.items():
        assert count(ShapeNetwork(model, recipe="published")) == number


@pytest.mark.parametrize("kind", ["points", "graphs"])
def test_ours_are_as_large_within_three_percent(kind):
    for model in MODELS:
        expected = PARAMETERS.get(model, 83.8 if model == "siamese" else 167.7)
        assert abs(count(ShapeNetwork(model, kind=kind)) / 1e3 / expected - 1) < 0.03


@EVERY
def test_scores_follow_the_set_and_ignore_the_names_of_points(model, kind, recipe):
    net = warmed(small(model, kind, recipe))
    for x in (torch.randn(2, 5, 3, V), RaggedSets(torch.randn(6, 3, V), [1, 0, 5])):
        assert_equivariant(
            net,
            x,
            *graph_of(net),
            symmetry=lambda rows: rows[..., ORDER],
            output_symmetry=lambda scores: scores,
            moved_args=graph_of(net, MOVED),
            task="select",
            trials=1,
        )


def test_points_may_be_permuted_by_the_whole_group():
    for kind in ("points", "full-points"):
        assert_equivariant(
            warmed(small("dss-sum", kind)),
            torch.randn(2, 5, 3, V),
            symmetry=Symmetric(V),
            output_symmetry=lambda scores: scores,
            task="select",
        )


@EVERY
def test_ragged_equals_dense_set_by_set(model, kind, recipe):
    net = warmed(small(model, kind, recipe))
    x = RaggedSets(torch.randn(4, 3, V, dtype=torch.float64), [1, 3])
    scores = net(x, *graph_of(net))
    for one, expected in zip(x, scores, strict=True):
        found = net(one[None], *graph_of(net))[0]
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@EVERY
def test_gradients_reach_every_parameter(model, kind, recipe):
    net = small(model, kind, recipe)
    net(torch.randn(2, 3, 3, V), *graph_of(net)).square().sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        # biases before a difference or a normalisation have a gradient of zero
        assert parameter.ndim == 1 or parameter.grad.any(), name


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_finite_differences(kind):
    net = warmed(small("dss-sum", kind))
    x = torch.randn(1, 3, 3, V, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: net(x, *graph_of(net)), x)


def dense_dss(layer, x, average):
    """A published layer of DSS by plain matrices: average (V, V), weights (out, in)."""

    def branch(part, x):
        y = torch.einsum("oi,...iv,wv->...ow", part.element.weight, x, average)
        y = y + part.element.bias[:, None]
        norm = part.norm.module
        scale = norm.weight / (norm.running_var + norm.eps).sqrt()
        return scale[:, None] * (y - norm.running_mean[:, None]) + norm.bias[:, None]

    return (branch(layer.element, x) + branch(layer.context, x.sum(1))[:, None]).relu()


@pytest.mark.parametrize("kind", ["points", "graphs"])
def test_the_published_network_is_the_formula(kind):
    net = warmed(small("dss-sum", kind, "published"))
    x = torch.randn(2, 5, 3, V, dtype=torch.float64)
    average = torch.eye(V).double() if kind == "points" else GRAPH.to_dense()
    features = x
    for depth in (0, 2, 4):
        features = dense_dss(net.features[depth], features, average)
    features = features.amax(-1)
    for layer in (net.scores[0], net.scores[2], net.scores[4]):
        features = layer.element(features) + layer.context(features.amax(1))[:, None]
        features = nn.functional.elu(features) if features.shape[-1] > 1 else features
    torch.testing.assert_close(net(x, *graph_of(net)), features.squeeze(-1))


def test_all_four_maps_of_points_are_there_only_in_the_full_basis():
    """Spread of the other points, and of the other shapes' other points, tells them apart."""
    for kind, hears in (("points", False), ("full-points", True)):
        layer = warmed(small("dss-sum", kind)).features[0]
        x = torch.randn(1, 2, 3, V, dtype=torch.float64)
        moved = x.clone()
        moved[:, 1, :, 3] += 1
        change = (layer(moved) - layer(x)).abs().amax(2)[0]  # (N, V)
        heard = change > 1e-3
        assert heard[:, 3].all()  # the same point, in both shapes
        assert bool(heard[:, 0].all()) is bool(heard[:, 0].any()) is hears


def test_edges_count_on_graphs():
    net = warmed(small("dss-sum", "graphs"))
    x = torch.randn(1, 4, 3, V, dtype=torch.float64)
    assert (net(x, GRAPH) - net(x, Graph.from_faces(FACES[:2], V))).abs().max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_networks_are_made_again_from_their_arguments(kind):
    net = small("aittala", kind, "published", num_elements=5)
    net.graph = GRAPH
    again = build("shapes", json.loads(json.dumps(net.arguments)))
    again.load_state_dict(net.state_dict())
    assert again.arguments == net.arguments
    x = torch.randn(1, 3, 3, V)
    assert torch.equal(again.eval()(x, *graph_of(again)), net.eval()(x))


@pytest.mark.parametrize("kind", KINDS)
def test_several_networks_run_as_one(kind):
    nets = [small("dss-sum", kind) for _ in range(2)]
    for net in nets:
        net.graph = GRAPH
    x = torch.randn(2, 4, 5, 3, V)
    together = Ensemble(nets).train()(x)
    for net, one, expected in zip(nets, x, together, strict=True):
        torch.testing.assert_close(net.train()(one), expected, rtol=1e-4, atol=1e-5)


def test_the_graph_follows_the_input_from_device_to_device():
    net = small("dss-sum", "graphs")
    net.graph = GRAPH
    assert net.to("meta")(torch.empty(2, 5, 3, V, device="meta")).shape == (2, 5)
    assert net.graph.device.type == "meta"
    assert GRAPH.device.type == "cpu"


def saved_bytes(net, x, *args):
    """Count what a forward pass keeps for the backward pass, each piece of memory once."""
    kept = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = net(x, *args).sum()
    return sum(kept.values()) if loss.requires_grad else 0


@pytest.mark.parametrize(
    ("model", "gigabytes"),
    [("siamese-ds", 2.3), ("dss-sum", 2.6), ("sridhar", 2.3), ("aittala", 5.0)],
)
def test_a_training_step_on_the_published_mesh_fits_a_gpu(model, gigabytes):
    """Activations grow with nodes and sets: measured at 1/10 of the nodes and 1/12 of the sets."""
    nodes = 689
    ring = torch.arange(nodes)
    faces = torch.stack([ring, (ring + 1) % nodes, (ring + 30) % nodes], 1)  # six neighbours each
    net = ShapeNetwork(model, kind="graphs", recipe="published")
    kept = saved_bytes(net, torch.randn(1, 7, 3, nodes), Graph.from_faces(faces, nodes))
    assert kept * 12 * 10 / 1e9 == pytest.approx(gigabytes, rel=0.05)


def test_sums_start_at_unit_scale_in_our_recipe():
    x = torch.randn(2, 7, 3, 50)
    assert ShapeNetwork("dss-sum").eval()(x).abs().max() < 10
    assert ShapeNetwork("dss-sum", recipe="published").eval()(x).abs().max() > 10


def test_any_number_of_elements_at_call_time():
    net = small("dss-mean", num_elements=7).eval()
    for n in (1, 2, 20):
        assert net(torch.randn(1, n, 3, V)).shape == (1, n)


def test_printing_says_what_the_network_is():
    shown = repr(small("dss-sum", "graphs"))
    assert "model=dss-sum, kind=graphs, recipe=ours, widths=[4, 6, 8]" in shown
    assert "element(x_i) + context(Σ_j x_j / 7)" in shown


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ShapeNetwork("dss"), r"model must be one of \['siamese', .*\], got 'dss'"),
        (
            lambda: ShapeNetwork("dss-sum", kind="mesh"),
            r"kind must be one of \['points', .* 'mesh'",
        ),
        (lambda: ShapeNetwork("dss-sum", recipe="my"), r"recipe must be one of .*, got 'my'"),
        (lambda: ShapeNetwork("dss-sum", widths=(8, 8)), r"widths must hold the channels of three"),
        (
            lambda: small("dss-sum", "graphs")(torch.randn(1, 2, 3, V)),
            "missing 1 required positional argument: 'graph'",
        ),
        (
            lambda: small("dss-sum")(torch.randn(1, 2, 3, V), GRAPH),
            "takes 2 positional arguments but 3 were given",
        ),
        (
            lambda: small("dss-sum")(torch.randn(1, 2, V, 3)),
            r"x must have shape \(B, 3, P\) for Points, got \(2, 6, 3\)",
        ),
        (
            lambda: small("dss-sum", "graphs")(torch.randn(1, 2, 3, 7), GRAPH),
            "x must have 6 nodes .* like the graph, got 7",
        ),
    ],
)
def test_bad_input_gets_a_sentence(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_what_is_no_set_gets_a_sentence():
    with pytest.raises(TypeError, match="x must be a tensor or RaggedSets, got NoneType"):
        small("dss-sum")(None)
