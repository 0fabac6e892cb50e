"""Streams of sets: what workers read is what one process would, and random numbers are owned."""

import random
import signal
import sys

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from symsets import RaggedSets
from symsets.data import LabelledSets
from symsets.data.streaming import LoadedSets, StreamedSets


class Noisy(Dataset):
    """Sets whose entries are drawn anew in every call, by three generators."""

    def __len__(self):
        return 10

    def __getitem__(self, k):
        noise = torch.rand(1).item() + random.random() + np.random.rand()  # noqa: NPY002
        return torch.full((2, 3), noise), k


ORDER = torch.arange(8).reshape(2, 2, 2)  # steps, members, sets


def read(sets, order=ORDER):
    return [(x.clone(), y.clone()) for x, y in sets.batches(order)]


def test_each_member_gets_its_own_batch():
    x = torch.arange(30.0).reshape(10, 1, 3)
    items, memory = list(zip(x, range(10), strict=True)), LabelledSets(x, torch.arange(10))
    for (a, b), (c, d) in zip(read(StreamedSets(items)), read(memory), strict=True):
        assert torch.equal(a, c)
        assert torch.equal(b, d)
        assert a.shape == (2, 2, 1, 3)


def test_sets_of_different_sizes_come_as_a_list_of_ragged_batches():
    items = [(torch.ones(1 + k % 3, 2), k) for k in range(10)]
    [(first, second), labels] = next(StreamedSets(items).batches(ORDER))
    assert isinstance(first, RaggedSets)
    assert first.sizes.tolist() == [1, 2]
    assert second.sizes.tolist() == [3, 1]
    assert labels.tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_what_is_random_is_decided_by_seed_and_epoch_and_not_by_workers(workers):
    sets, alone = StreamedSets(Noisy(), workers=workers), StreamedSets(Noisy())
    once = read(sets)
    assert all(torch.equal(a, b) for (a, _), (b, _) in zip(once, read(alone), strict=True))
    assert all(torch.equal(a, b) for (a, _), (b, _) in zip(once, read(sets), strict=True))
    sets.set_epoch(1)
    assert not torch.equal(once[0][0], read(sets)[0][0])
    other = StreamedSets(Noisy(), workers=workers, seed=1)
    assert not torch.equal(once[0][0], read(other)[0][0])


def test_evaluation_sees_the_same_in_every_epoch():
    sets = StreamedSets(Noisy())
    before = [x for x, _ in sets.parts(4)]
    sets.set_epoch(5)
    assert [len(x) for x in before] == [4, 4, 2]
    assert all(torch.equal(a, b) for a, (b, _) in zip(before, sets.parts(4), strict=True))
    assert torch.equal(next(sets.first(3).parts(4))[0], before[0][:3])


def test_generators_are_left_as_they_were():
    torch.manual_seed(5)
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    expected = torch.rand(1), random.random(), np.random.rand()  # noqa: NPY002
    torch.manual_seed(5)
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    read(StreamedSets(Noisy()))
    loader = DataLoader(list(range(4)), batch_size=2, shuffle=True, collate_fn=pairs)
    list(LoadedSets(loader).parts(1))
    assert (torch.rand(1), random.random(), np.random.rand()) == expected  # noqa: NPY002


def pairs(items):
    return torch.tensor(items)[:, None, None].float(), torch.tensor(items)


def test_a_loader_gives_every_member_the_same_batches_in_an_order_of_its_epoch():
    loader = DataLoader(list(range(12)), batch_size=4, shuffle=True, collate_fn=pairs)
    sets = LoadedSets(loader)
    order = torch.zeros(3, 2, 0, dtype=torch.int64)
    epochs = []
    for epoch in (0, 0, 1):
        sets.set_epoch(epoch)
        found = [y for _, y in sets.batches(order)]
        assert all(torch.equal(y[0], y[1]) and y.shape == (2, 4) for y in found)
        epochs.append(torch.cat([y[0] for y in found]).tolist())
    assert sorted(epochs[0]) == list(range(12))
    assert epochs[0] == epochs[1] != epochs[2]
    assert (sets.num_sets, sets.num_steps) == (12, 3)


def test_the_epoch_decides_the_order_of_a_loader_with_a_generator_of_its_own():
    own = torch.Generator().manual_seed(7)
    loader = DataLoader(list(range(12)), 4, shuffle=True, generator=own, collate_fn=pairs)
    sets, epochs = LoadedSets(loader), []
    for epoch in (0, 1, 0, 1):  # as after a kill
        sets.set_epoch(epoch)
        found = sets.batches(torch.zeros(3, 1, 0, dtype=torch.int64))
        epochs.append(torch.cat([y[0] for _, y in found]).tolist())
    assert epochs[:2] == epochs[2:]
    assert epochs[0] != epochs[1]
    assert torch.equal(own.get_state(), torch.Generator().manual_seed(7).get_state())


def test_samplers_are_told_the_epoch():
    class Sampler:
        def __len__(self):
            return 2

        def __iter__(self):
            return iter([[0, 1], [2, 3]])

        def set_epoch(self, epoch):
            self.epoch = epoch

    loader = DataLoader(list(range(4)), batch_sampler=Sampler(), collate_fn=pairs)
    LoadedSets(loader).set_epoch(3)
    assert loader.batch_sampler.epoch == 3


def test_entries_are_cast_and_labels_are_not():
    items = [(torch.ones(2, 3, dtype=torch.float64), 1), (torch.ones(2, 3).double(), 0)]
    [(x, y)] = StreamedSets(items).parts(2)
    assert (x.dtype, y.dtype) == (torch.float32, torch.int64)
    [(x, _)] = StreamedSets(items).to("cpu", torch.float64).parts(2)
    assert x.dtype == torch.float64
    [(whole, _)] = StreamedSets([(torch.ones(2, 3).long(), 1)]).parts(1)
    assert whole.dtype == torch.int64


def test_items_must_be_pairs():
    with pytest.raises(TypeError, match=r"each item of the dataset must be a pair \(set, target\)"):
        next(StreamedSets([torch.ones(2, 3)]).parts(1))
    loader = DataLoader([torch.ones(2, 3)], collate_fn=lambda items: items[0])
    with pytest.raises(TypeError, match="each batch of the loader must be a pair"):
        next(LoadedSets(loader).parts(1))


class Handlers(Dataset):
    """What a worker does about interrupts, and about a reader that has gone."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        sys.excepthook(BrokenPipeError, BrokenPipeError(), None)
        ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        return torch.full((1, 1), float(ignored)), torch.tensor(0)


@pytest.fixture
def usual_interrupts():
    """Interrupts as in a terminal; they are ignored where tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("usual_interrupts")
def test_workers_leave_interrupts_to_the_training_and_end_quietly(capfd):
    [(x, _)] = StreamedSets(Handlers(), workers=1).parts(2)
    assert x.all()
    assert capfd.readouterr().err == ""
    [(x, _)] = StreamedSets(Handlers(), workers=0).parts(2)
    assert not x.any()  # nothing is changed in the process itself
    assert "BrokenPipeError" in capfd.readouterr().err
