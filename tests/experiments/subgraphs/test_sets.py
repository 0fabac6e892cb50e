"""Subgraphs of graphs."""

from collections import Counter
from itertools import combinations

import pytest
import torch

from symsets.experiments.subgraphs.graphs import SKIPS, LabelledGraph, csl
from symsets.experiments.subgraphs.sets import kept_edges, subgraph_sets

# A circle of six nodes, 0-1-2-3-4-5-0.
CIRCLE = torch.tensor([[0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 0], [1, 2, 3, 4, 5, 0, 0, 1, 2, 3, 4, 5]])


def edges_of(policy):
    kept = kept_edges(policy, 6, CIRCLE)
    return [{tuple(sorted(edge)) for edge in CIRCLE[:, row].T.tolist()} for row in kept]


ALL = {(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)}


def test_the_whole_graph_is_a_set_of_one():
    assert edges_of("whole") == [ALL]


def test_node_deleted_subgraphs_lack_the_edges_of_one_node():
    assert edges_of("node-deleted") == [{e for e in ALL if v not in e} for v in range(6)]


def test_edge_deleted_subgraphs_lack_one_edge_in_both_directions():
    found = edges_of("edge-deleted")
    assert len(found) == 6
    assert all(len(ALL - edges) == 1 for edges in found)
    assert set.union(*(ALL - edges for edges in found)) == ALL
    assert (kept_edges("edge-deleted", 6, CIRCLE).sum(1) == 10).all()


def test_ego_subgraphs_hold_the_edges_within_three_steps_and_mark_their_centre():
    path = torch.tensor([[0, 1, 2, 3, 4, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0, 1, 2, 3, 4]])
    kept = kept_edges("ego", 6, path)
    assert [row[:5].tolist() for row in kept[:2]] == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]]
    assert torch.equal(kept[:, :5], kept[:, 5:])  # in both directions
    nodes = subgraph_sets([LabelledGraph(torch.ones(6, 1), path, 0)], "ego").x.elements.elements
    assert torch.equal(nodes.unflatten(0, (6, 6)), torch.stack([torch.ones(6, 6), torch.eye(6)], 2))


def test_an_unknown_policy_is_refused():
    with pytest.raises(ValueError, match="policy must be one of"):
        kept_edges("nodes-deleted", 6, CIRCLE)


def test_sets_hold_all_nodes_in_every_subgraph_and_the_class_of_the_graph():
    graphs = csl()[:3]
    sets = subgraph_sets(graphs, "node-deleted")
    assert sets.x.partition.counts == (41,) * 3
    assert sets.x.elements.partition.counts == (41,) * 3 * 41
    assert sets.y.tolist() == [0, 1, 2]
    [second], _ = sets.batch(torch.tensor([[1]]))
    edges = second.edges.to_list()[5].T
    kept = kept_edges("node-deleted", 41, graphs[1].edge_index)[5]
    assert torch.equal(edges, graphs[1].edge_index[:, kept])


def colours(graph, policy, rounds):
    """Return how often each bag of node colours comes up among the subgraphs of a graph."""
    bags = Counter()
    for kept in kept_edges(policy, len(graph.x), graph.edge_index):
        neighbours = [[] for _ in graph.x]
        for start, end in graph.edge_index[:, kept].T.tolist():
            neighbours[end].append(start)
        colour = [0] * len(graph.x)
        for _ in range(rounds):
            colour = [
                hash((own, *sorted(colour[v] for v in others)))
                for own, others in zip(colour, neighbours, strict=True)
            ]
        bags[tuple(sorted(colour))] += 1
    return bags


@pytest.mark.parametrize(
    ("policy", "rounds", "alike"),
    [("node-deleted", 4, []), ("edge-deleted", 4, [(9, 12)]), ("edge-deleted", 5, [])],
)
def test_so_many_rounds_of_colours_tell_the_circles_apart(policy, rounds, alike):
    found = {
        skip: colours(graph, policy, rounds)
        for skip, graph in zip(SKIPS, csl()[: len(SKIPS)], strict=True)
    }
    assert [pair for pair in combinations(SKIPS, 2) if found[pair[0]] == found[pair[1]]] == alike
