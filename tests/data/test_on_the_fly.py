import pytest
import torch

from symsets.data import OnTheFlySets
from symsets.data.on_the_fly import random_orders


class Numbers(OnTheFlySets):
    """Sets that show all there is to see: which one, what was drawn, whether it may move."""

    def make(self, which, generator, *, augment):
        drawn = torch.rand((len(which), 3), device=self.device, generator=generator)
        x = torch.cat([self.material[which][:, None], drawn], dim=1)
        return x, torch.where(torch.tensor(augment), -which, which)


def numbers(num=150, **options):
    return Numbers(torch.arange(float(num)), num, **options)


def test_evaluation_gives_the_same_sets_however_it_is_cut():
    sets = numbers()
    x, y = sets.part(0, 150)
    assert x.shape == (150, 4)
    assert y.tolist() == list(range(150))
    assert torch.equal(x[:, 0], torch.arange(150.0))
    for step in (1, 7, 64, 100, 150):
        parts = [sets.part(start, start + step) for start in range(0, 150, step)]
        assert torch.equal(torch.cat([part[0] for part in parts]), x)
        assert torch.equal(torch.cat([part[1] for part in parts]), y)
    assert torch.equal(sets.part(60, 70)[0], x[60:70])


def test_sets_for_evaluation_all_differ_and_a_seed_decides_them():
    x = numbers(seed=3).part(0, 150)[0]
    assert len(x[:, 1:].unique(dim=0)) == 150
    assert torch.equal(x, numbers(seed=3).part(0, 150)[0])
    assert not torch.isclose(x[:, 1:], numbers(seed=4).part(0, 150)[0][:, 1:]).any()


def test_evaluation_neither_hears_nor_moves_the_global_generator():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    x = numbers().part(0, 150)[0]
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert torch.equal(numbers().part(0, 150)[0], x)


def test_sets_are_made_exactly_whatever_training_rounds():
    seen = []

    class Products(Numbers):
        def make(self, which, generator, *, augment):
            x, y = super().make(which, generator, augment=augment)
            seen.append(((x @ x.mT).dtype, rounding()))
            return x, y

    rounding = torch.get_float32_matmul_precision
    before = rounding()
    sets = Products(torch.arange(8.0), 8)
    torch.set_float32_matmul_precision("high")
    try:
        with torch.autocast("cpu", torch.bfloat16):
            sets.batch(torch.arange(4))
            sets.part(0, 4)
        assert rounding() == "high"
    finally:
        torch.set_float32_matmul_precision(before)
    assert seen == [(torch.float32, "highest")] * 2


def test_the_end_of_the_sets_is_the_end():
    x, y = numbers().part(128, 1000)
    assert len(x) == len(y) == 22


def test_training_draws_anew_and_the_global_seed_fixes_it():
    sets, which = numbers(), torch.tensor([5, 5, 9])
    torch.manual_seed(0)
    first, second = (sets.batch(which)[0] for _ in range(2))
    assert torch.equal(first[:, 0], torch.tensor([5.0, 5.0, 9.0]))
    assert not torch.isclose(first[:, 1:], second[:, 1:]).any()
    assert not torch.isclose(first[0, 1:], first[1, 1:]).any()
    torch.manual_seed(0)
    assert torch.equal(sets.batch(which)[0], first)


def test_batches_keep_the_shape_of_what_was_asked_for_and_may_move():
    which = torch.tensor([[1, 2, 3], [4, 5, 6]])
    x, y = numbers().batch(which)
    assert x.shape == (2, 3, 4)
    assert torch.equal(x[..., 0], which.float())
    assert torch.equal(y, -which)


def test_the_first_sets_are_a_supply_of_their_own():
    sets = numbers()
    few = sets.first(70)
    assert (few.num_sets, sets.num_sets) == (70, 150)
    assert torch.equal(few.part(0, 150)[0][:, 0], torch.arange(70.0))
    assert torch.equal(few.part(0, 64)[0], sets.part(0, 64)[0])


def test_entries_are_cast_and_labels_are_not():
    sets = numbers()
    double = sets.to("cpu", torch.float64)
    for x, y in (double.part(0, 3), double.batch(torch.arange(3)), double.first(3).part(0, 3)):
        assert (x.dtype, y.dtype) == (torch.float64, torch.int64)
    assert sets.part(0, 3)[0].dtype == torch.float32
    assert double.to("cpu").part(0, 3)[0].dtype == torch.float64  # moving alone casts nothing
    assert torch.equal(double.part(0, 3)[0].float(), sets.part(0, 3)[0])


def test_orders_are_permutations_and_all_occur():
    orders = random_orders(600, 3, torch.zeros(1), torch.Generator().manual_seed(0))
    assert torch.equal(orders.sort(1).values, torch.arange(3).expand(600, 3))
    _, counts = orders.unique(dim=0, return_counts=True)
    assert len(counts) == 6
    assert (counts - 100).abs().max() < 40  # more than four standard deviations


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: numbers().first(151), r"num must be in 1\.\.150, got 151"),
        (lambda: numbers().first(0), r"num must be in 1\.\.150, got 0"),
        (lambda: numbers(num=0), "num_sets must be at least 1, got 0"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
