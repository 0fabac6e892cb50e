import copy
import pickle
import warnings
from collections import OrderedDict

import pytest
import torch
import torch.utils.checkpoint
from torch import nn
from torch.utils.data import DataLoader

from symsets import DSS, Siamese
from symsets.nn import SetAttention
from symsets.nn.graph import Graph, GraphBatch, GraphConv

TOLERANCE = 1e-9
V = 6
no_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
cuda = pytest.param("cuda", marks=[pytest.mark.gpu, no_cuda])
devices = pytest.mark.parametrize("device", ["cpu", cuda])


def random_graph(seed=0, *, num_nodes=V, directed=True, **options):
    """A graph with duplicate edges, own loops, weights, and a node without edges."""
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(num_nodes - 1, (2, 12), generator=generator)
    weight = torch.rand(12, generator=generator, dtype=torch.double)
    if not directed:
        edges, weight = torch.cat([edges, edges.flip(0)], 1), torch.cat([weight, weight])
        once = edges[0] != edges[1]
        edges, weight = edges[:, once], weight[once]
    return Graph(edges, num_nodes, edge_weight=weight, **options)


def values(shape, **options):
    return torch.randn(shape, dtype=torch.double, **options)


def dense_reference(graph):
    """The normalised adjacency by its formula, entry by entry."""
    adjacency, loops = torch.zeros(V, V).double(), {}
    for source, target, weight in zip(*graph.edge_index.tolist(), graph.edge_weight, strict=True):
        if source == target:
            loops[source] = weight
        else:
            adjacency[target, source] += weight
    for node in range(V):
        adjacency[node, node] = loops.get(node, graph.self_loops)
    scale = adjacency.sum(1).clamp(min=1e-300).rsqrt() * (adjacency.sum(1) > 0)
    return scale[:, None] * adjacency * scale


def relabelled(graph, perm):
    return Graph(perm.argsort()[graph.edge_index], V, edge_weight=graph.edge_weight)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("self_loops", [0.0, 1.0, 2.0])
def test_adjacency_is_normalised_by_the_formula(self_loops, directed):
    graph = random_graph(directed=directed, self_loops=self_loops)
    assert torch.allclose(graph.to_dense(), dense_reference(graph), atol=TOLERANCE)


@devices
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("directed", [False, True])
def test_propagate_is_the_dense_product_in_value_and_gradient(directed, batch, device):
    graph = random_graph(directed=directed).to(device)
    x, weight = values((batch, 3, V)).to(device).requires_grad_(), values((batch, 3, V)).to(device)
    y, expected = graph.propagate(x), x @ graph.to_dense().T
    assert torch.allclose(y, expected, atol=TOLERANCE)
    grads = [torch.autograd.grad((out * weight).sum(), x)[0] for out in (y, expected)]
    assert torch.allclose(*grads, atol=TOLERANCE)


def test_an_undirected_graph_is_its_own_transpose():
    assert random_graph(directed=False)._matrix.symmetric
    assert not random_graph(directed=True)._matrix.symmetric


@pytest.mark.parametrize("out_channels", [2, 4])
@pytest.mark.parametrize("directed", [False, True])
def test_commutes_with_relabelling_nodes_and_edges(directed, out_channels):
    graph, layer = random_graph(directed=directed), GraphConv(3, out_channels).double()
    x, perm = values((2, 3, V)), torch.randperm(V)
    moved = layer(x[..., perm], relabelled(graph, perm))
    assert (moved - layer(x, graph)[..., perm]).abs().max() < TOLERANCE


@pytest.mark.parametrize("out_channels", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_improved_convolution_of_torch_geometric(weighted, out_channels):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its import scripts with torch.jit
        pyg = pytest.importorskip("torch_geometric.nn")
    graph = random_graph()
    if not weighted:
        graph = Graph(graph.edge_index, V)
    weight = graph.edge_weight if weighted else torch.ones(graph.num_edges).double()
    ours = GraphConv(3, out_channels).double()
    theirs = pyg.GCNConv(3, out_channels, improved=True).double()
    with torch.no_grad():
        theirs.lin.weight.copy_(ours.weight)
        torch.nn.init.normal_(ours.bias)
        theirs.bias.copy_(ours.bias)
    x = values((2, 3, V), requires_grad=True)
    y = ours(x, graph)
    expected = torch.stack([theirs(element.T, graph.edge_index, weight).T for element in x])
    assert torch.allclose(y, expected, atol=TOLERANCE)
    cotangent = values(y.shape)
    mine = torch.autograd.grad(y, (x, ours.weight, ours.bias), cotangent)
    other = torch.autograd.grad(expected, (x, theirs.lin.weight, theirs.bias), cotangent)
    assert all(torch.allclose(a, b, atol=TOLERANCE) for a, b in zip(mine, other, strict=True))


@pytest.mark.parametrize("out_channels", [2, 4])
@pytest.mark.parametrize("shared", [False, True])
def test_gradients(shared, out_channels):
    graph = random_graph() if shared else GraphBatch([random_graph(0), random_graph(1)])
    layer, x = GraphConv(3, out_channels).double(), values((2, 3, V), requires_grad=True)

    def apply(x, weight, bias):
        return torch.func.functional_call(layer, {"weight": weight, "bias": bias}, (x, graph))

    assert torch.autograd.gradcheck(apply, (x, *layer.parameters()))
    assert torch.autograd.gradgradcheck(apply, (x, *layer.parameters()))


@devices
@pytest.mark.parametrize("out_channels", [2, 4])
def test_a_graph_per_element_equals_a_loop(out_channels, device):
    graphs = [random_graph(seed, directed=bool(seed)).to(device) for seed in range(4)]
    layer = GraphConv(3, out_channels).double().to(device)
    x = values((4, 3, V)).to(device)
    loop = [layer(x[i : i + 1], graph) for i, graph in enumerate(graphs)]
    assert torch.allclose(layer(x, GraphBatch(graphs)), torch.cat(loop), atol=TOLERANCE)
    assert torch.allclose(
        GraphBatch(graphs).to_dense(), torch.stack([g.to_dense() for g in graphs])
    )


@devices
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("index", [[0, 0, 2, 2, 2], [2, 0, 2, 0, 2]])
def test_over_sets_is_the_mean_of_the_dense_matrices(index, directed, device):
    graphs = [random_graph(seed, directed=directed).to(device) for seed in range(5)]
    batch, index = GraphBatch(graphs), torch.tensor(index, device=device)
    mean = batch.over_sets(index, torch.tensor([2, 0, 3], device=device))
    dense = batch.to_dense()
    expected = torch.stack([dense[index == s].mean(0).nan_to_num() for s in range(3)])
    assert torch.allclose(mean.to_dense(), expected, atol=TOLERANCE)
    x = values((3, 2, V)).to(device).requires_grad_()
    y, plain = mean.propagate(x), x @ expected.mT
    assert torch.allclose(y, plain, atol=TOLERANCE)
    weight = values(y.shape).to(device)
    grads = [torch.autograd.grad(out, x, weight)[0] for out in (y, plain)]
    assert torch.allclose(*grads, atol=TOLERANCE)
    assert not y[1].any()


def test_over_sets_is_computed_once_per_batch_of_sets():
    batch = GraphBatch([random_graph(0), random_graph(1)])
    index, sizes = torch.tensor([0, 1]), torch.tensor([1, 1])
    first = batch.over_sets(index, sizes)
    assert batch.over_sets(index, sizes) is first
    assert batch.over_sets(torch.tensor([1, 0]), sizes) is not first
    assert batch.to(dtype=torch.float32).over_sets(index, sizes) is not first


@pytest.mark.parametrize("shared", [True, False])
def test_a_plain_chain_hands_the_graph_to_those_who_take_it(shared):
    first, last = GraphConv(3, 8).double(), GraphConv(8, 4).double()
    chain = nn.Sequential(OrderedDict(first=first, act=nn.ELU(), inner=nn.Sequential(last)))
    graph = random_graph() if shared else GraphBatch([random_graph(seed) for seed in range(6)])
    index, sizes = torch.tensor([0, 0, 0, 1, 1, 1]), torch.tensor([3, 3])
    means = graph if shared else graph.over_sets(index, sizes)
    x = values((2, 3, 3, V), requires_grad=True)

    def by_hand(rows, graph):
        return last(nn.functional.elu(first(rows, graph)), graph)

    alone = by_hand(x.flatten(0, 1), graph).unflatten(0, (2, 3))
    heard = by_hand(x.sum(1), means).unsqueeze(1)
    siamese, dss = Siamese(chain), DSS(chain, context=chain)
    for found, expected in ((siamese(x, graph), alone), (dss(x, graph), alone + heard)):
        assert torch.allclose(found, expected, atol=TOLERANCE)
        grads = [
            torch.autograd.grad(y.square().sum(), x, retain_graph=True)[0]
            for y in (found, expected)
        ]
        assert torch.allclose(*grads, atol=TOLERANCE)
    assert list(siamese.state_dict()) == [f"element.{name}" for name in chain.state_dict()]
    assert repr(siamese.element) == repr(chain)
    with pytest.raises(ValueError, match=r"^element must not change its input in place"):
        SetAttention(nn.Sequential(nn.ReLU(inplace=True), first))


def test_faces_give_undirected_edges_without_duplicates():
    faces = torch.tensor([[0, 1, 2], [2, 1, 3], [3, 3, 4]])
    graph = Graph.from_faces(faces, 6)
    pairs = {(0, 1), (1, 2), (0, 2), (1, 3), (2, 3), (3, 4)}
    expected = pairs | {(b, a) for a, b in pairs}
    assert {tuple(edge) for edge in graph.edge_index.T.tolist()} == expected
    assert graph.num_edges == len(expected)


def test_adjacency_rows_are_what_a_node_hears():
    adjacency = torch.tensor([[0.0, 3.0], [0.0, 0.0]])  # node 0 hears node 1
    graph = Graph.from_adjacency(adjacency)
    assert graph.edge_index.tolist() == [[1], [0]]
    assert torch.allclose(graph.to_dense(), torch.tensor([[0.4, 3 / 10**0.5], [0, 1.0]]).double())
    assert torch.equal(Graph.from_adjacency(adjacency > 0).edge_index, graph.edge_index)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@devices
def test_products_keep_the_type_of_x(device, dtype):
    graph = random_graph().to(device)
    x = torch.randn(2, 3, V, device=device, dtype=dtype, requires_grad=True)
    y = graph.propagate(x)
    y.sum().backward()
    assert y.dtype == x.grad.dtype == dtype
    exact = x.detach().double() @ graph.to_dense().T
    assert torch.allclose(y.detach().double(), exact, atol=8 * torch.finfo(dtype).eps)


@devices
@pytest.mark.parametrize("out_channels", [2, 4])
def test_autocast(device, out_channels):
    graph, layer = random_graph().to(device), GraphConv(3, out_channels).to(device)
    x = torch.randn(2, 3, V, device=device, requires_grad=True)
    with torch.autocast(device, dtype=torch.bfloat16):
        assert graph.propagate(x).dtype == torch.float32
        y = layer(x, graph)
    y.float().sum().backward()
    assert x.grad.dtype == torch.float32
    assert torch.allclose(y.float(), layer(x, graph), atol=5e-2)  # bfloat16 keeps 8 bits


@pytest.mark.parametrize("out_channels", [2, 4])
@pytest.mark.parametrize("shared", [False, True])
def test_compiles_to_the_same_value_and_gradient(shared, out_channels):
    torch._dynamo.reset()
    graph = random_graph() if shared else GraphBatch([random_graph(0), random_graph(1)])
    layer, x = GraphConv(3, out_channels).double(), values((2, 3, V), requires_grad=True)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    results = []
    for run in (layer, compiled):
        y = run(x, graph)
        results.append((y, *torch.autograd.grad(y.square().sum(), (x, layer.weight))))
    assert all(torch.allclose(a, b, atol=TOLERANCE) for a, b in zip(*results, strict=True))


def test_over_sets_compiles():
    torch._dynamo.reset()
    batch = GraphBatch([random_graph(0), random_graph(1)])
    index, sizes, x = torch.tensor([0, 0]), torch.tensor([2]), values((1, 3, V))

    def apply(x):
        return batch.over_sets(index, sizes).propagate(x)

    assert torch.allclose(torch.compile(apply, backend="aot_eager", fullgraph=True)(x), apply(x))


def test_many_networks_run_at_once_under_vmap():
    graph, x = random_graph(), values((2, 3, V))
    layer = GraphConv(3, 2).double()
    weights = values((4, 2, 3))

    def loss(weight):
        call = torch.func.functional_call(layer, {"weight": weight, "bias": layer.bias}, (x, graph))
        return call.square().sum()

    together = torch.vmap(torch.func.grad(loss))(weights)
    alone = torch.stack([torch.func.grad(loss)(weight) for weight in weights])
    assert torch.allclose(together, alone, atol=TOLERANCE)
    many = values((4, 2, 3, V))
    together = torch.vmap(graph.propagate, in_dims=1)(many.transpose(0, 1))
    assert torch.allclose(together, torch.stack([graph.propagate(x) for x in many]))


@pytest.mark.parametrize("out_channels", [2, 5])  # the product before the map, and after it
@pytest.mark.parametrize("directed", [True, False])
def test_forward_derivatives_are_those_of_the_dense_product(directed, out_channels):
    graph, layer = random_graph(directed=directed), GraphConv(3, out_channels).double()
    x, v = values((4, 3, V)), values((4, 3, V))
    _, slope = torch.func.jvp(lambda z: layer(z, graph), (x,), (v,))
    zero = torch.zeros_like(v)
    torch.testing.assert_close(slope, layer(v, graph) - layer(zero, graph))  # affine in x
    _, second = torch.func.jvp(
        torch.func.grad(lambda z: layer(z, graph).square().sum()), (x,), (v,)
    )
    f = torch.func.grad(lambda z: layer(z, graph).square().sum())
    torch.testing.assert_close(second, f(x + v) - f(x))  # linear in x


@pytest.mark.parametrize("out_channels", [2, 4])
def test_the_output_lies_as_sums_over_sets_want_it(out_channels):
    y = GraphConv(3, out_channels)(torch.randn(2, 3, V), random_graph())
    assert y.is_contiguous()


@pytest.mark.parametrize("smooth", [False, True])
def test_starts_near_unit_scale(smooth):
    torch.manual_seed(0)
    x = torch.randn(4, 256, 1).expand(4, 256, V) if smooth else torch.randn(4, 256, V)
    assert 0.3 < GraphConv(256, 256)(x, random_graph(directed=False)).std() < 1.5


def test_graphs_without_edges_and_empty_batches():
    none = torch.empty(2, 0, dtype=torch.long)
    assert torch.allclose(Graph(none, 3).to_dense(), torch.eye(3).double())
    bare = Graph(none, 3, self_loops=0.0)
    assert not bare.propagate(torch.ones(2, 4, 3)).any()
    assert Graph(none, 3).propagate(torch.ones(0, 4, 3)).shape == (0, 4, 3)


@pytest.mark.parametrize("directed", [False, True])
def test_copies_and_pickles_are_the_same_graph(directed):
    graph = random_graph(directed=directed)
    for twin in (copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        assert torch.equal(twin.to_dense(), graph.to_dense())
        assert twin._matrix.symmetric == graph._matrix.symmetric
    batch = GraphBatch([graph, graph])
    assert torch.equal(pickle.loads(pickle.dumps(batch)).to_dense(), batch.to_dense())


def test_a_gradient_leaves_nothing_behind():
    graphs, x = GraphBatch([random_graph(i) for i in range(4)]), values((2, 2, 3, V))
    layer = DSS(GraphConv(3, 4)).double()
    torch.func.grad(lambda x: layer(x, graphs).sum())(x)
    again = pickle.loads(pickle.dumps(graphs))
    assert torch.equal(layer(x, again), layer(x, graphs))
    assert graphs._means is not None
    pickle.dumps(graphs)


def test_a_loader_collates_graphs():
    loader = DataLoader([random_graph(i) for i in range(4)], batch_size=2, collate_fn=Graph.stack)
    assert [repr(batch) for batch in loader] == ["GraphBatch(2 graphs, 6 nodes)"] * 2


def test_rounding_once_for_all_rounds_the_weights():
    graph = random_graph().to(dtype=torch.float32)
    assert graph.to_dense().dtype == torch.float32
    assert graph.edge_index.dtype == torch.int64


@pytest.mark.gpu
@no_cuda
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")  # says that it is a prototype
def test_no_call_waits_for_the_device():
    graphs = [random_graph(seed).to("cuda") for seed in range(2)]
    layer, x = GraphConv(3, 4).to("cuda"), torch.randn(2, 3, V, device="cuda", requires_grad=True)
    batch, index = GraphBatch(graphs), torch.tensor([0, 0], device="cuda")
    sizes = torch.tensor([2], device="cuda")
    torch.cuda.set_sync_debug_mode("error")
    try:
        (layer(x, graphs[0]) + layer(x, batch)).sum().backward()
        batch.over_sets(index, sizes).propagate(x[:1])
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.gpu
@no_cuda
def test_a_step_can_be_captured_in_a_cuda_graph():
    graph, layer = random_graph().to("cuda"), GraphConv(3, 4).to("cuda")
    x = torch.randn(2, 3, V, device="cuda", requires_grad=True)

    def step():
        y = layer(x, graph)
        return y, *torch.autograd.grad(y.square().sum(), x)

    expected = [result.detach() for result in step()]
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        results = step()
    captured.replay()
    assert all(torch.allclose(a, b) for a, b in zip(results, expected, strict=True))


@pytest.mark.gpu
@no_cuda
def test_graphs_move_between_devices():
    graph = random_graph().pin_memory().to("cuda", non_blocking=True)
    assert graph.device.type == graph.edge_index.device.type == "cuda"
    with pytest.raises(ValueError, match=r"x must be on the device of the graph, cuda:0, got cpu"):
        graph.propagate(torch.zeros(1, 1, V))


def test_repr_shows_the_signature():
    graph = random_graph()
    assert repr(graph) == "Graph(6 nodes, 12 edges)"
    assert repr(Graph.stack([graph, graph])) == "GraphBatch(2 graphs, 6 nodes)"
    assert repr(GraphConv(3, 4)) == "GraphConv(3 → 4, Â x W + b)"
    assert len(Graph.stack([graph, graph])) == 2


@pytest.mark.parametrize(
    ("edge_index", "kind", "message"),
    [
        (torch.tensor([[0, 7], [1, 2]]), ValueError, r"must point to nodes 0\.\.4, got 7"),
        (torch.tensor([[0, -1], [1, 2]]), ValueError, r"must point to nodes 0\.\.4, got -1"),
        (torch.zeros(3, 2, dtype=torch.long), ValueError, r"must be \(2, E\), got shape \(3, 2\)"),
        (torch.zeros(2, 3), TypeError, r"must hold integers \(torch.long\), got torch.float32"),
        ([[0], [1]], TypeError, r"must be a tensor \(2, E\), got list"),
    ],
)
def test_wrong_edges_are_named(edge_index, kind, message):
    with pytest.raises(kind, match=f"edge_index {message}"):
        Graph(edge_index, 5)


def test_wrong_arguments_of_graphs_are_named():
    edges = torch.tensor([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="num_nodes must be at least 1, got 0"):
        Graph(edges, 0)
    with pytest.raises(ValueError, match=r"self_loops must be 0 or positive, got -1"):
        Graph(edges, 2, self_loops=-1.0)
    with pytest.raises(ValueError, match=r"edge_weight must be \(2,\), .* got shape \(3,\)"):
        Graph(edges, 2, edge_weight=torch.ones(3))
    with pytest.raises(ValueError, match=r"edge_weight must not be negative, .* got -1"):
        Graph(edges, 2, edge_weight=torch.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match="edge_weight must be constant"):
        Graph(edges, 2, edge_weight=torch.ones(2, requires_grad=True))
    with pytest.raises(ValueError, match=r"faces must be \(F, 3\), got shape \(2, 2\)"):
        Graph.from_faces(edges, 2)
    with pytest.raises(ValueError, match=r"adjacency must be \(V, V\), got shape \(2, 3\)"):
        Graph.from_adjacency(torch.ones(2, 3))
    with pytest.raises(ValueError, match="graphs must hold at least one graph, got none"):
        GraphBatch([])
    with pytest.raises(ValueError, match=r"share their nodes, got .* 5 and 7 nodes: .* wreath"):
        GraphBatch([Graph(edges, 7), Graph(edges, 5)])
    with pytest.raises(ValueError, match=r"graphs must be one for each element, got 1 graphs"):
        GraphBatch([Graph(edges, 2)]).over_sets(torch.tensor([0, 0]), torch.tensor([2]))


def test_wrong_input_of_the_layer_is_named():
    graph, layer = random_graph(num_nodes=5), GraphConv(3, 4)
    with pytest.raises(ValueError, match=r"x must have 5 nodes \(last axis\) .*, got 7"):
        layer(torch.zeros(2, 3, 7), graph)
    with pytest.raises(
        ValueError, match=r"x must have shape \(B, 3, V\) for GraphConv, got \(2, 2, 5\)"
    ):
        layer(torch.zeros(2, 2, 5), graph)
    with pytest.raises(ValueError, match=r"shape \(B, 3, V\) for GraphConv, got \(3, 5\)"):
        layer(torch.zeros(3, 5), graph)
    with pytest.raises(ValueError, match=r"x must have 2 elements .*, one for each graph, got 3"):
        layer(torch.zeros(3, 3, 5), GraphBatch([graph, graph]))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'graph'"):
        layer(torch.zeros(2, 3, 5))


def test_the_graph_may_be_named():
    graph, layer, x = random_graph(), GraphConv(3, 4), torch.randn(2, 3, V)
    assert torch.equal(layer(x, graph=graph), layer(x, graph))


@pytest.mark.parametrize("channels", [(3, 4), (4, 3)])
def test_a_checkpointed_layer_has_the_same_gradients(channels):
    graph = Graph(torch.tensor([[0, 1, 2], [1, 2, 0]]), num_nodes=3)
    layer, x = GraphConv(*channels).double(), torch.randn(2, channels[0], 3, dtype=torch.float64)
    expected = torch.autograd.grad(layer(x, graph).pow(2).sum(), list(layer.parameters()))
    y = torch.utils.checkpoint.checkpoint(layer, x, graph, use_reentrant=False)
    found = torch.autograd.grad(y.pow(2).sum(), list(layer.parameters()))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("channels", [(3, 4), (4, 3)])
def test_autocast_gives_one_type_whatever_the_widths(channels):
    graph = Graph(torch.tensor([[0, 1, 2], [1, 2, 0]]), num_nodes=3)
    with torch.autocast("cpu", torch.bfloat16):
        y = GraphConv(*channels)(torch.randn(2, channels[0], 3), graph)
    assert y.dtype == torch.bfloat16


def test_means_made_in_inference_mode_serve_in_training():
    graphs, layer, x = (
        GraphBatch([random_graph()] * 6),
        DSS(GraphConv(4, 3)),
        torch.randn(2, 3, 4, V),
    )
    with torch.inference_mode():
        layer(x, graphs)
    layer(x, graphs).sum().backward()


def test_a_graph_moved_in_inference_mode_serves_in_training():
    graph = random_graph()
    with torch.inference_mode():
        graph = graph.to(torch.float32)
    x = torch.randn(2, 3, V, requires_grad=True)
    GraphConv(3, 2)(x, graph).sum().backward()


def test_over_sets_gives_each_thread_its_own_answer():
    class Raced(GraphBatch):
        """Another thread puts its answer into the place of every one that is kept."""

        theirs = None

        @property
        def _means(self):
            return self.theirs

        @_means.setter
        def _means(self, kept):
            pass

    loop = Graph(torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    batch = Raced([loop, loop])
    sizes = torch.tensor([1, 1])
    batch.theirs = (torch.tensor([1, 0]), sizes, loop)
    assert len(batch.over_sets(torch.tensor([0, 1]), sizes)) == 2
