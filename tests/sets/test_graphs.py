import io

import pytest
import torch
from torch_geometric.data import Batch, Data

from symsets import RaggedSets, collate
from symsets.sets import GraphSets


def graph(nodes):
    return Data(x=torch.randn(nodes, 3), edge_index=torch.randint(nodes, (2, 2 * nodes)))


def bags(*counts):
    return [[graph(n) for n in nodes] for nodes in counts]


def test_collate_makes_the_disjoint_union_of_all_graphs():
    sets = bags((3, 4), (5,), (2, 2, 6))
    x, y = collate([(graphs, k) for k, graphs in enumerate(sets)])
    union = Batch.from_data_list([g for graphs in sets for g in graphs])
    assert isinstance(x, GraphSets)
    assert torch.equal(x.elements.elements, union.x)
    assert torch.equal(x.edge_index, union.edge_index)
    assert torch.equal(x.elements.partition.index, union.batch)
    assert x.sizes.tolist() == [2, 1, 3]
    assert y.tolist() == [0, 1, 2]


@pytest.mark.parametrize("which", [[2, 0, 2], slice(1, 3), torch.tensor([1]), -1])
def test_some_of_the_sets_keep_their_edges(which):
    sets = bags((3, 4), (5,), (2, 2, 6))
    some = [sets[which]] if isinstance(which, int) else None
    if some is None:
        some = sets[which] if isinstance(which, slice) else [sets[k] for k in which]
    found, expected = collate(sets)[which], collate(list(some))
    assert torch.equal(found.edge_index, expected.edge_index)
    assert torch.equal(found.elements.elements, expected.elements.elements)
    assert found.partition == expected.partition


def test_batches_join_move_and_survive_a_file():
    x = collate(bags((3, 4), (5,)))
    twice = collate([x[0], x[1]])
    assert torch.equal(twice.edge_index, x.edge_index)
    assert x.to(torch.float64).dtype == torch.float64
    for moved in (x.cpu(), x.to(torch.float64), x.detach()):
        assert torch.equal(moved.edge_index, x.edge_index)
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    again = torch.load(file, weights_only=True)
    assert repr(again) == repr(x)
    assert torch.equal(again.edge_index, x.edge_index)


def test_a_stream_keeps_the_memory_of_edges(monkeypatch):
    kept = []
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda x, _: kept.append(x), raising=False)
    x = collate(bags((3, 4), (5,)))
    x.record_stream(None)
    for part in (x.elements.elements, x.edges.elements, x.edges.partition.sizes):
        assert any(part is one for one in kept)


def test_layers_for_clouds_see_the_nodes():
    x = collate(bags((3, 4), (5,)))
    assert isinstance(x.map(lambda nodes: nodes), RaggedSets)
    assert x.map(lambda nodes: nodes.with_elements(nodes.elements.sum(1))).sizes.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: collate([[Data(edge_index=torch.zeros(2, 1).long())]]),
            "must have node features x",
        ),
        (
            lambda: collate([[Data(x=torch.zeros(2, 3), edge_index=torch.tensor([[0], [2]]))]]),
            r"edges must number the 2 nodes of their graph from 0, got \[0, 2\]",
        ),
        (lambda: GraphSets.from_data([[]]), "sets must hold at least one graph"),
        (
            lambda: GraphSets(
                RaggedSets(torch.zeros(2, 3), [2]),
                [1],
                RaggedSets(torch.zeros(1, 2).long(), [1, 0]),
            ),
            "edges must be those of 1 graphs, got those of 2",
        ),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_left_out_of_graphs_is_said():
    data = Data(x=torch.zeros(2, 3), edge_index=torch.tensor([[0], [1]]), edge_weight=torch.ones(1))
    with pytest.warns(UserWarning, match="edge_weight of graphs are left out"):
        collate([[data]])
