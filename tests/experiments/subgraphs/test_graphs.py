"""Graphs of CSL, EXP and graph6 files, and how they are divided."""

import io
import struct
import warnings

import pytest
import torch

from symsets.experiments.subgraphs.graphs import (
    SKIPS,
    GraphSource,
    csl,
    graph_source,
    read_exp,
    read_graph6,
)

PETERSEN = b"IheA@GUAo"


def adjacency(graph):
    dense = torch.zeros(len(graph.x), len(graph.x), dtype=torch.int64)
    dense[graph.edge_index[0], graph.edge_index[1]] += 1
    return dense


def exp_bytes(pairs=5, call=b""):
    """Return a pickle as an early torch_geometric wrote it, with a call of something at its end."""

    def tensor(numbers, size, stride):
        file = io.BytesIO()
        with warnings.catch_warnings(action="ignore"):  # such storages are deprecated
            storage = torch.tensor(numbers).storage()
        torch.save(storage, file, _use_new_zipfile_serialization=False)
        return (
            b"ctorch._utils\n_rebuild_tensor_v2\n("
            + load_from_bytes(file.getvalue())
            + (b"K\x00" + size + stride + b"\x89ccollections\nOrderedDict\n)RtR")
        )

    def graph(label):
        return (
            b"ctorch_geometric.data.data\nData\n)\x81}("
            + (b"X\x01\0\0\0x" + tensor([0, 1, 1], b"K\x03K\x01\x86", b"K\x01K\x01\x86"))
            + b"X\x0a\0\0\0edge_index"
            + tensor([0, 1, 1, 2, 1, 0, 2, 1], b"K\x02K\x04\x86", b"K\x04K\x01\x86")
            + (b"X\x01\0\0\0y" + tensor([label], b"K\x01\x85", b"K\x01\x85") + b"ub")
        )

    return b"\x80\x03](" + (graph(1) + graph(0)) * pairs + call + b"e."


def load_from_bytes(content):
    return (
        b"ctorch.storage\n_load_from_bytes\nB"
        + struct.pack("<I", len(content))
        + content
        + b"\x85R"
    )


def test_csl_has_ten_classes_of_regular_graphs_that_differ_by_their_cycles():
    graphs = csl()
    assert [sum(g.label == k for g in graphs) for k in range(10)] == [15] * 10
    dense = [adjacency(graph) for graph in graphs]
    assert all(bool((a == a.T).all() and (a.sum(0) == 4).all() and a.max() == 1) for a in dense)
    spectra = torch.stack([torch.linalg.eigvalsh(a.double()) for a in dense])
    labels = torch.tensor([graph.label for graph in graphs])
    same = (spectra[:, None] - spectra).abs().amax(-1) < 1e-9
    assert torch.equal(same, labels[:, None] == labels)  # classes differ, copies do not
    assert len({tuple(a.flatten().tolist()) for a in dense}) == 150  # but in their numbering


@pytest.mark.parametrize("fold", range(5))
def test_every_graph_is_in_one_split_and_every_class_in_all(fold):
    source = graph_source("embedded", seed=fold)
    splits = {split: source.split(split) for split in ("train", "val", "test")}
    assert sorted(id(g) for graphs in splits.values() for g in graphs) == sorted(
        map(id, source.graphs)
    )
    for split, copies in {"train": 9, "val": 3, "test": 3}.items():
        assert [g.label for g in splits[split]] == list(range(len(SKIPS))) * copies


def test_folds_share_no_test_graph():
    graphs = csl()
    tested = [GraphSource("CSL", graphs, 10, fold).split("test") for fold in range(5)]
    assert len({id(graph) for test in tested for graph in test}) == 150


def test_graph6_gives_the_edges_that_it_holds(tmp_path):
    path = tmp_path / "petersen.g6"
    path.write_bytes(PETERSEN + b"\n>>graph6<<Bw\n")
    petersen, triangle = read_graph6(path)
    a = adjacency(petersen)
    square = a @ a  # neighbours have nothing in common, others one node
    assert torch.equal(square, 3 * torch.eye(10, dtype=torch.int64) + 1 - torch.eye(10).long() - a)
    assert torch.equal(adjacency(triangle), 1 - torch.eye(3, dtype=torch.int64))
    assert (petersen.label, triangle.label) == (0, 1)
    source = graph_source(str(path))
    assert source.split("train") == source.split("test") == source.graphs


@pytest.mark.parametrize("line", [b"IheA@", b"IheA@GUAoooo", b"~?@", b"I\x20eA@GUAo"])
def test_a_line_that_is_no_graph_is_named(tmp_path, line):
    path = tmp_path / "wrong.g6"
    path.write_bytes(b"Bw\n" + line)
    with pytest.raises(ValueError, match=r"wrong\.g6 must hold graphs in the format graph6"):
        read_graph6(path)


def test_exp_gives_pairs_with_the_kinds_of_nodes_and_keeps_them_together(tmp_path):
    path = tmp_path / "GRAPHSAT.pkl"
    path.write_bytes(exp_bytes())
    source = graph_source(str(path), seed=1)
    first, second = source.graphs[:2]
    assert first.x.tolist() == [[1, 0], [0, 1], [0, 1]]
    assert first.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert (first.label, second.label, source.num_classes, source.channels) == (1, 0, 2, 2)
    assert source.split("test") == source.graphs[2:4]


def test_a_pickle_that_asks_for_anything_else_is_refused_and_not_run(tmp_path):
    path = tmp_path / "GRAPHSAT.pkl"
    made = tmp_path / "made"
    path.write_bytes(exp_bytes(call=b"cos\nmkdir\n(V%s\ntR" % str(made).encode()))
    with pytest.raises(ValueError, match=r"GRAPHSAT\.pkl must be .* asks for \S+\.mkdir"):
        read_exp(path)
    assert not made.exists()


def test_a_call_hidden_in_the_numbers_of_a_tensor_is_refused_and_not_run(tmp_path):
    path = tmp_path / "GRAPHSAT.pkl"
    made = tmp_path / "made"
    hidden = b"\x80\x02cos\nmkdir\n(V%s\ntR." % str(made).encode()
    path.write_bytes(exp_bytes(call=load_from_bytes(hidden)))
    with pytest.raises(ValueError, match=r"GRAPHSAT\.pkl must be"):
        read_exp(path)
    assert not made.exists()


@pytest.mark.parametrize("content", [b"", b"\x80\x03]K\x01a."])
def test_a_pickle_of_something_else_is_named(tmp_path, content):
    path = tmp_path / "GRAPHSAT.pkl"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"GRAPHSAT\.pkl must be the file"):
        read_exp(path)


def test_data_that_are_not_there_are_named():
    with pytest.raises(ValueError, match=r"data must be 'embedded'.*got 'nowhere\.pkl'"):
        graph_source("nowhere.pkl")
