import pytest
import torch
from torch.autograd import gradcheck

from symsets import RaggedSets, pool
from symsets.sets import power_sums, softmax
from symsets.sets.partition import Partition
from symsets.sets.pooling import _middle_at_once, _middle_by_size

HOW = ["sum", "mean", "max", "median", "power3"]
COUNTS = [3, 0, 1, 6, 2, 0]


def reference(sets, how):
    """Pool set by set with numpy-like code that shares nothing with the library."""
    out = []
    for s in sets:
        if how.startswith("power"):
            out.append(torch.cat([(s**k).sum(0) for k in range(1, 4)]))
        elif len(s) == 0:
            out.append(torch.zeros(s.shape[1:], dtype=s.dtype))
        elif how == "median":
            out.append(s.quantile(0.5, dim=0))
        elif how == "max":
            out.append(s.max(0).values)
        else:
            out.append(getattr(s, how)(0))
    return torch.stack(out)


@pytest.fixture
def ragged():
    torch.manual_seed(0)
    return RaggedSets(torch.randn(sum(COUNTS), 4, 3, dtype=torch.float64), COUNTS)


@pytest.mark.parametrize("how", HOW)
def test_ragged_pooling_agrees_with_a_loop_over_sets(ragged, how):
    torch.testing.assert_close(pool(ragged, how), reference(ragged, how))


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_dense_and_equal_ragged_sets_agree_with_a_loop(how, n):
    x = torch.randn(3, n, 4, 2, dtype=torch.float64)
    torch.testing.assert_close(pool(x, how), reference(x, how))
    torch.testing.assert_close(pool(RaggedSets(x.flatten(0, 1), [n] * 3), how), pool(x, how))


@pytest.mark.parametrize("how", HOW)
def test_gradients_are_those_of_the_value(ragged, how):
    rows = ragged.elements[:, :2, :1].clone().requires_grad_()
    assert gradcheck(lambda r: pool(RaggedSets(r, COUNTS), how), rows)
    dense = torch.randn(2, 3, 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: pool(x, how), dense)


@pytest.mark.parametrize("how", HOW)
def test_empty_sets_pool_to_zero(how):
    assert (pool(torch.zeros(2, 0, 3), how) == 0).all()
    assert (pool(RaggedSets(torch.zeros(0, 3), [0, 0]), how) == 0).all()
    assert (pool(RaggedSets(torch.ones(2, 3), [0, 2]), how)[0] == 0).all()


def test_the_maximum_of_no_whole_numbers_is_a_whole_number_of_their_type():
    ints = torch.zeros(1, 0, 3, dtype=torch.int32)
    assert pool(ints, "max").dtype == pool(RaggedSets(ints[0], [0]), "max").dtype == torch.int32


@pytest.mark.parametrize("how", HOW)
def test_nan_stays_in_its_set(ragged, how):
    clean = pool(ragged, how)
    rows = ragged.elements.clone()
    rows[4] = torch.nan  # one of the six elements of set 3
    dirty = pool(ragged.with_elements(rows), how)
    others = [0, 1, 2, 4, 5]
    assert torch.equal(dirty[others], clean[others])


@pytest.mark.parametrize("how", HOW)
def test_nan_is_not_hidden(ragged, how):
    rows = ragged.elements.clone()
    rows[4] = torch.nan
    assert pool(ragged.with_elements(rows), how)[3].isnan().all()
    assert pool(rows[None], how).isnan().all()


@pytest.mark.parametrize("how", ["max", "median"])
def test_ties_share_the_gradient(how):
    for make in (lambda r: r[None], lambda r: RaggedSets(r, [3, 0])):
        rows = torch.zeros(3, 1, requires_grad=True)
        pool(make(rows), how).sum().backward()
        torch.testing.assert_close(rows.grad, torch.full((3, 1), 1 / 3))


@pytest.mark.parametrize("how", HOW)
def test_derivatives_pass_transforms_and_run_forwards(how):
    torch.manual_seed(0)
    x = torch.randn(3, 2, 5, 4, dtype=torch.float64, requires_grad=True)
    expected = torch.autograd.grad(sum(pool(sets, how).pow(2).sum() for sets in x), x)
    found = torch.autograd.grad(torch.vmap(lambda sets: pool(sets, how))(x).pow(2).sum(), x)
    torch.testing.assert_close(found, expected)
    assert gradcheck(lambda x: pool(x, how), (x[0],), check_forward_ad=True)


def test_an_infinite_median_is_infinite():
    rows = torch.tensor([[1.0], [torch.inf], [torch.inf]], requires_grad=True)
    assert pool(rows[None], "median").item() == torch.inf


def test_size_divides_sums_only():
    x = torch.randn(2, 5, 3)
    torch.testing.assert_close(pool(x, "sum", size=5), pool(x, "mean"))
    assert torch.equal(pool(x, "max", size=5), pool(x, "max"))


def test_channels_last_images_keep_their_layout():
    x = torch.randn(2, 3, 4, 5, 6).permute(0, 1, 4, 2, 3)  # (B, N, C, H, W) stored as NHWC
    for how in ("sum", "mean", "max", "median"):
        torch.testing.assert_close(pool(x, how), pool(x.contiguous(), how))
    assert pool(x, "sum").is_contiguous(memory_format=torch.channels_last)


def test_half_precision_sums_do_not_drift():
    rows = torch.full((4096 + 1, 1), 0.001, dtype=torch.bfloat16)
    total = pool(RaggedSets(rows, [4096, 1]), "sum")[0]
    torch.testing.assert_close(total, rows[:4096].float().sum(0).bfloat16())


@pytest.mark.parametrize("how", ["mean", "median", "sum"])
def test_summaries_that_fit_into_half_precision_do_not_overflow(how):
    rows = torch.full((103, 1), 1000.0, dtype=torch.float16)
    if how == "median":
        rows, sizes = torch.full((6, 1), 60000.0, dtype=torch.float16), [4, 2]
    else:
        sizes = [100, 3]
    for x in (RaggedSets(rows, sizes), rows[None]):
        summary = pool(x, how, size=100)
        assert summary.dtype == torch.float16
        assert summary.isfinite().all()


@pytest.mark.parametrize("how", ["sum", "mean", "max", "median", "power2"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int64, torch.bool])
def test_integers_are_pooled_as_numbers(how, dtype):
    rows = torch.tensor([[0], [0], [100], [120], [90], [110]]).to(dtype)
    ragged = pool(RaggedSets(rows, [2, 4, 0]), how)
    exact = pool(RaggedSets(rows.double(), [2, 4, 0]), how)
    assert torch.equal(ragged.double(), exact)
    dense = pool(rows[None, 2:], how)
    assert ragged.dtype == dense.dtype
    assert torch.equal(ragged[1:2], dense)


def test_softmax_agrees_with_a_loop_over_sets(ragged):
    expected = torch.cat([s.softmax(0) for s in ragged])
    torch.testing.assert_close(softmax(ragged).elements, expected)
    x = torch.randn(2, 3, 4)
    torch.testing.assert_close(softmax(x), x.softmax(1))
    torch.testing.assert_close(
        softmax(RaggedSets(x.flatten(0, 1), [3, 3])).elements.unflatten(0, (2, 3)), x.softmax(1)
    )


def test_softmax_of_large_scores_is_finite_and_differentiable():
    rows = (1000 * torch.randn(5, dtype=torch.float64)).requires_grad_()
    assert softmax(RaggedSets(rows, [2, 3])).elements.isfinite().all()
    small = torch.randn(5, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda r: softmax(RaggedSets(r, [2, 3])).elements, small)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: pool(torch.zeros(2, 3), "medain"),
            ValueError,
            r"pool must be one of \['max', 'mean', 'median', .*'sum'\].*got 'medain'",
        ),
        (
            lambda: pool(torch.zeros(2)),
            ValueError,
            r"at least 2 axes, \(batch, set, …\), got shape \(2,\)",
        ),
        (lambda: pool(torch.zeros(2, 3), "power2"), ValueError, "at least 3 axes"),
        (
            lambda: pool(RaggedSets(torch.zeros(3), [1, 2]), "power2"),
            ValueError,
            r"x must have elements with channels, \(C, …\), got RaggedSets\(2 sets",
        ),
        (
            lambda: power_sums(torch.zeros(1, 2, 3), 0),
            ValueError,
            "degree must be at least 1, got 0",
        ),
        (lambda: pool(torch.zeros(2, 3), ["max"]), ValueError, r"pool must be .* got \['max'\]"),
        (lambda: pool(torch.zeros(2, 3), size=0), ValueError, "size must be positive, got 0"),
        (lambda: pool(torch.zeros(2, 3), size="2"), TypeError, "size must be a number, got '2'"),
        (lambda: pool([1, 2]), TypeError, "x must be a tensor or RaggedSets, got list"),
        (
            lambda: pool(RaggedSets.from_list([[torch.zeros(2, 1), torch.zeros(3, 1)]])),
            ValueError,
            "wreath product",
        ),
        (
            lambda: pool(RaggedSets.from_list([[torch.zeros(2, 1), torch.zeros(3, 1)]]), "power2"),
            ValueError,
            "wreath product",
        ),
    ],
)
def test_wrong_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("how", ["max", "median"])
def test_complex_numbers_have_no_order(how):
    x = torch.zeros(2, 3, 4, dtype=torch.complex64)
    for sets in (x, RaggedSets(x.flatten(0, 1), [1, 5])):
        with pytest.raises(TypeError, match=f"x must be real, as complex numbers have no {how}"):
            pool(sets, how)
    assert pool(x, "mean").dtype == torch.complex64


def test_medians_of_integers_are_floats_also_of_empty_sets():
    x = torch.zeros(2, 0, 3, dtype=torch.int32)
    assert pool(x, "median").dtype == torch.float32
    assert pool(RaggedSets(x[0], [0, 0]), "median").dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_softmax_of_many_elements_fits_into_half_precision(dtype):
    weights = softmax(RaggedSets(torch.zeros(70_001, 1, dtype=dtype), [70_000, 1])).elements
    assert weights.dtype == dtype
    assert weights[0].item() == pytest.approx(1 / 70_000, rel=2e-2)
    assert weights[-1] == 1


@pytest.mark.parametrize("sizes", [[1, 4], [5]])
def test_the_softmax_of_integers_is_refused(sizes):
    rows = torch.zeros(5, 1, dtype=torch.int64)
    for x in (RaggedSets(rows, sizes), rows[None]):
        with pytest.raises(TypeError, match=r"x must hold floating-point numbers, got torch\.i"):
            softmax(x)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int64])
def test_sorting_by_size_and_at_once_find_the_same_medians(dtype):
    partition = Partition([3, 0, 1, 4, 3, 2, 0, 7])
    rows = torch.randint(5, (20, 3, 2)).to(dtype)  # with many ties
    if dtype.is_floating_point:
        rows[[1, 9], 0], rows[5, 1], rows[16, 2] = torch.nan, torch.inf, -torch.inf
    held = [k for k, n in enumerate(partition.counts) if n]
    found = zip(_middle_by_size(rows, partition), _middle_at_once(rows, partition), strict=True)
    for by_size, at_once in found:
        assert by_size.dtype == dtype
        torch.testing.assert_close(by_size[held], at_once[held], rtol=0, atol=0, equal_nan=True)


def test_sums_of_large_sets_keep_their_digits():
    x = torch.rand(3_000_000, 1) + 1
    ragged = RaggedSets(x, [len(x) - 5, 0, 5])
    for how in ("sum", "mean"):
        exact = pool(RaggedSets(x.double(), ragged.sizes), how)
        torch.testing.assert_close(pool(ragged, how).double(), exact, rtol=1e-6, atol=0)
    rows = torch.randn(5000, 2, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(3, 2, dtype=torch.float64)
    (pool(RaggedSets(rows, [1500, 3, 3497])) * weights).sum().backward()
    assert torch.equal(rows.grad, weights.repeat_interleave(torch.tensor([1500, 3, 3497]), 0))
