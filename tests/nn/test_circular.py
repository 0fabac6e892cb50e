"""Circular convolutions against a dense matrix, in every mode in which torch runs a module."""

import itertools
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode

from symsets.nn.circular import CircularConv1d, CircularConv2d, SymmetryWarning
from symsets.ops import _constants, spectral

METHODS = ["direct", "spectral"]
# (length, kernel_size, stride): odd and even, full-length kernels, strides that divide and do not
SIZES_1D = [
    (length, k, stride)
    for length, k, stride in itertools.product([1, 2, 9, 12], [1, 2, 3, 6, 9, 12], [1, 2, 3])
    if k <= length
]
SIZES_2D = [
    ((4, 6), (3, 3), (1, 1)),
    ((5, 6), (2, 3), (1, 2)),
    ((6, 9), (6, 4), (2, 3)),
    ((7, 5), (7, 5), (2, 2)),
    ((4, 1), (1, 1), (4, 1)),
]


def windows(length, k, stride):
    """Which entry of x each tap of each output reads: zeros and ones (outputs, k, length)."""
    start = stride * torch.arange(-(-length // stride)) - k // 2
    return F.one_hot((start[:, None] + torch.arange(k)) % length, length).double()


def dense(layer, x):
    """Apply the layer as one dense matrix on all channels and positions."""
    sizes = zip(x.shape[2:], layer.kernel_size, layer.stride, strict=True)
    reads = [windows(*size) for size in sizes]
    if len(reads) == 1:
        matrix = torch.einsum("oct,ptl->opcl", layer.weight, *reads)
        y = torch.einsum("opcl,bcl->bop", matrix, x)
    else:
        matrix = torch.einsum("ocij,pih,qjw->opqchw", layer.weight, *reads)
        y = torch.einsum("opqchw,bchw->bopq", matrix, x)
    if layer.bias is None:
        return y
    return y + layer.bias.view(-1, *[1] * len(reads))


def make(size, kernel_size, stride, *, batch=3, dtype=torch.float64, **options):
    torch.manual_seed(0)
    kind = CircularConv1d if isinstance(size, int) else CircularConv2d
    layer = kind(2, 4, kernel_size, stride=stride, **options).to(dtype)
    layer._warned = True
    shape = (size,) if isinstance(size, int) else size
    return layer, torch.randn(batch, 2, *shape, dtype=dtype, requires_grad=True)


def gradients(y, layer, x):
    """Gradients of a loss that weighs every output differently."""
    weights = torch.arange(1.0, y.numel() + 1, dtype=y.dtype).sin().view(y.shape)
    return torch.autograd.grad((weights * y).sum(), [x, *layer.parameters()])


def assert_close(actual, expected, tolerance=1e-10):
    for a, b in zip(actual, expected, strict=True):
        assert a.shape == b.shape
        assert (a.double() - b.double()).abs().max() <= tolerance * max(1, b.abs().max())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("size", "k", "stride"), SIZES_1D + SIZES_2D)
def test_value_and_gradients_match_the_dense_matrix(size, k, stride, method):
    layer, x = make(size, k, stride, method=method)
    y, expected = layer(x), dense(layer, x)
    assert_close([y, *gradients(y, layer, x)], [expected, *gradients(expected, layer, x)])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dims", [1, 2])
def test_agrees_with_the_circular_convolution_of_torch(dims, stride, method):
    theirs = (nn.Conv1d, nn.Conv2d)[dims - 1](
        2, 4, 5, stride=stride, padding=2, padding_mode="circular", dtype=torch.float64
    )
    layer, x = make((7, 8, 6)[:dims] if dims == 2 else 7, 5, stride, method=method)
    layer.load_state_dict(theirs.state_dict())
    assert_close([layer(x)], [theirs(x)])


@pytest.mark.parametrize("bias", [True, False])
def test_parameters_start_as_those_of_torch(bias):
    for ours, theirs in ((CircularConv1d, nn.Conv1d), (CircularConv2d, nn.Conv2d)):
        torch.manual_seed(0)
        expected = theirs(3, 4, 5, bias=bias).state_dict()
        torch.manual_seed(0)
        layer = ours(3, 4, 5, bias=bias)
        assert list(layer.state_dict()) == list(expected)
        assert_close(layer.state_dict().values(), expected.values(), 0)
        before = layer.weight.clone()
        layer.reset_parameters()
        assert not torch.equal(layer.weight, before)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("size", "k", "stride"),
    [(9, 4, 1), (12, 12, 2), (9, 5, 3), ((4, 6), 3, (1, 2)), ((6, 6), (2, 6), (3, 2))],
)
def test_shifts_by_the_stride_move_the_output_by_one(size, k, stride, method):
    layer, x = make(size, k, stride, method=method)
    dims = tuple(range(2, x.ndim))
    steps = (2, 1)[: len(dims)]
    moved = x.roll([n * s for n, s in zip(steps, layer.stride, strict=True)], dims)
    assert layer.is_exact(*x.shape[2:])
    assert_close([layer(moved)], [layer(x).roll(steps, dims)], 1e-9)


def test_is_exact_says_where_shifts_stop_being_a_symmetry():
    layer, x = make(9, 3, 2)
    assert not layer.is_exact(9)
    assert (layer(x.roll(2, -1)) - layer(x).roll(1, -1)).abs().max() > 1e-2
    image, _ = make((4, 6), 3, (1, 2))
    assert image.is_exact(5, 6)
    assert not image.is_exact(6, 5)


def test_warns_once_when_the_stride_does_not_divide():
    layer = CircularConv1d(2, 4, 3, stride=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layer(torch.randn(1, 2, 8))
        with pytest.raises(SymmetryWarning):
            layer(torch.randn(1, 2, 9))
    with pytest.warns(
        SymmetryWarning, match=r"stride \(2,\) of CircularConv1d .* size \(9,\) of x"
    ):
        layer(torch.randn(1, 2, 9))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layer(torch.randn(1, 2, 9))
        CircularConv2d(2, 4, 3)(torch.randn(1, 2, 5, 7))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("size", "k"), [(8, 8), ((4, 6), 3)])
def test_batches_of_any_size_and_layout(size, k, method):
    layer, x = make(size, k, 2, method=method, bias=False)
    y = layer(x)
    assert layer.bias is None
    assert_close([layer(x[:1])], [y[:1]])
    assert layer(x[:0]).shape == y[:0].shape
    turned = x.detach().transpose(1, -1).contiguous().transpose(1, -1)
    assert not turned.is_contiguous()
    assert_close([layer(turned)], [y])


@pytest.mark.parametrize(
    ("layer", "shape", "is_spectral"),
    [
        (CircularConv1d(64, 64, 3), (64, 64, 50), False),
        (CircularConv1d(64, 64, 50), (64, 64, 50), True),
        (CircularConv1d(64, 64, 25), (1, 64, 50), False),
        (CircularConv1d(1, 64, 50, stride=2), (64, 1, 50), True),
        (CircularConv2d(16, 16, 3), (8, 16, 16, 16), False),
        (CircularConv2d(16, 16, 16), (8, 16, 16, 16), True),
    ],
)
def test_auto_takes_the_method_with_fewer_operations(layer, shape, is_spectral, monkeypatch):
    calls, run = [], spectral._spectral_conv
    monkeypatch.setattr(spectral, "_spectral_conv", lambda *args: calls.append(1) or run(*args))
    layer(torch.randn(shape))
    assert len(calls) == is_spectral


@pytest.mark.parametrize(
    ("size", "k", "stride"), [(12, 12, 2), (25, 7, 2), (12, 3, 1), ((6, 9), (5, 3), (3, 2))]
)
def test_the_count_of_operations_is_what_runs(size, k, stride, monkeypatch):
    monkeypatch.setattr(spectral, "MEMORY_COST", 0)
    layer, x = make(size, k, stride, method="spectral")
    with FlopCounterMode(display=False) as counter:
        layer(x)
    count = spectral.spectral_cost(x.shape, layer.weight.shape, layer.stride)
    assert counter.get_total_flops() == 2 * count


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("size", "k", "stride"), [(7, 4, 2), ((4, 3), (2, 3), (2, 1))])
def test_gradcheck(size, k, stride, method):
    layer, x = make(size, k, stride, batch=2, method=method)
    params = dict(layer.named_parameters())

    def function(x, *values):
        named = dict(zip(params, values, strict=True))
        return torch.func.functional_call(layer, named, (x,))

    assert torch.autograd.gradcheck(function, (x, *params.values()))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("size", "k", "stride"), [(12, 12, 2), (9, 4, 2), ((4, 6), 3, 2)])
def test_compiles_in_one_graph_with_the_same_gradients(size, k, stride, method):
    layer, x = make(size, k, stride, method=method)
    layer._warned = False  # nor does a compiled layer warn
    torch.compiler.reset()
    y = torch.compile(layer, backend="aot_eager", fullgraph=True, dynamic=False)(x)
    expected = dense(layer, x)
    assert_close([y, *gradients(y, layer, x)], [expected, *gradients(expected, layer, x)])


def test_compiles_for_lengths_that_change():
    torch.compiler.reset()
    layer, _ = make(12, 6, 1)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    for length in (12, 17, 20):
        x = torch.randn(length, 2, length, dtype=torch.float64)
        assert_close([compiled(x)], [dense(layer, x)])


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_exports_with_a_batch_of_any_size(method):
    layer, x = make(9, 9, 2, method=method)
    layer._warned = False
    batch = torch.export.Dim("batch", min=1)
    program = torch.export.export(layer, (x.detach(),), dynamic_shapes=({0: batch},))
    more = torch.randn(5, 2, 9, dtype=torch.float64)
    assert_close([program.module()(more)], [dense(layer, more)])


def test_the_exported_method_does_not_depend_on_the_batch():
    layer = CircularConv1d(16, 16, 24)
    rows = [spectral._prefers_spectral((n, 16, 24), layer.weight.shape, (1,)) for n in (1, 64)]
    assert rows == [False, True]
    shapes = ({0: torch.export.Dim("batch", min=1)},)
    program = torch.export.export(layer, (torch.randn(2, 16, 24),), dynamic_shapes=shapes)
    assert program.module()(torch.randn(70, 16, 24)).shape == (70, 16, 24)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("size", "k"), [(12, 12), ((4, 6), 3)])
def test_autocast_gives_bfloat16_near_the_exact_values(size, k, method):
    layer, x = make(size, k, 2, method=method, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer(x)
    assert y.dtype == torch.bfloat16
    exact, exact_x = layer.double(), x.detach().double()
    assert_close([y], [dense(exact, exact_x)], 3e-2)  # bfloat16 has eight bits


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("size", "k"), [(12, 12), ((4, 6), 3)])
def test_vmap_trains_stacked_weights_like_a_loop(size, k, method):
    layers = [make(size, k, 2, method=method)[0] for _ in range(3)]
    for layer in layers:
        layer.reset_parameters()
    params, buffers = torch.func.stack_module_state(layers)
    x = make(size, k, 2)[1].detach()

    def loss(params, buffers, x):
        return torch.func.functional_call(layers[0], (params, buffers), (x,)).sin().sum()

    _constants._kept.cache_clear()  # the matrices are then made inside vmap and grad
    grads = torch.func.vmap(torch.func.grad(loss), in_dims=(0, 0, None))(params, buffers, x)
    for i, layer in enumerate(layers):
        expected = torch.autograd.grad(dense(layer, x).sin().sum(), list(layer.parameters()))
        assert_close([grads["weight"][i], grads["bias"][i]], expected)
        y = layer(x)  # and are still good outside
        assert_close([y], [dense(layer, x)])


def test_cached_matrices_are_plain_whatever_mode_made_them():
    layer, x = make(12, 5, 2, method="spectral")
    expected = dense(layer, x)
    expected = [expected, *gradients(expected, layer, x)]
    modes = [torch.inference_mode(), torch.no_grad(), torch.autocast("cpu"), torch.device("meta")]
    for mode in modes:
        _constants._kept.cache_clear()
        with mode:
            layer(x)
        y = layer(x)
        assert_close([y, *gradients(y, layer, x)], expected)


def test_abstract_tensors_stay_out_of_the_cache():
    _constants._kept.cache_clear()
    with FakeTensorMode():
        x, weight = torch.empty(3, 2, 12), torch.empty(4, 2, 5)
        assert spectral._spectral_conv(x, weight, (2,)).shape == (3, 4, 6)
    assert _constants._kept.cache_info().currsize == 0


def test_shapes_can_be_found_without_numbers():
    layer = CircularConv1d(2, 4, 12, stride=2, method="spectral").to("meta")
    assert layer(torch.empty(3, 2, 12, device="meta")).shape == (3, 4, 6)


@pytest.mark.parametrize("length", [1, 10, 11])  # 11 has 16 rows, which need no further ones
def test_matrices_for_a_gpu_are_aligned(length, monkeypatch):
    make_waves = spectral._make_waves
    waves = make_waves(length, 0, length, 1, 1, True, torch.device("cpu"))
    assert len(waves) % spectral.ALIGNMENT == 0
    assert waves.mT.is_contiguous()
    layer, x = make(length, length, 1, method="spectral")
    expected = dense(layer, x)
    expected = [expected, *gradients(expected, layer, x)]
    monkeypatch.setattr(
        spectral, "_make_waves", lambda *sizes: make_waves(*sizes[:5], True, sizes[-1])
    )
    for y in (layer(x), layer(x.movedim(-1, 0).contiguous().movedim(0, -1))):
        assert_close([y, *gradients(y, layer, x)], expected)


def test_half_precision_parameters():
    layer, x = make(12, 12, 1, method="spectral", dtype=torch.bfloat16)
    y = layer(x)
    assert y.dtype == torch.bfloat16
    assert_close([y], [dense(layer.double(), x.double())], 3e-2)  # bfloat16 has eight bits


def test_repr_reads_like_a_convolution():
    assert repr(CircularConv1d(2, 4, 3)) == "CircularConv1d(2, 4, kernel_size=(3,), stride=(1,))"
    assert repr(CircularConv2d(2, 4, 3, stride=2, bias=False, method="direct")) == (
        "CircularConv2d(2, 4, kernel_size=(3, 3), stride=(2, 2), bias=False, method='direct')"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"in_channels": 0}, "in_channels must be at least 1, got 0"),
        ({"out_channels": -1}, "out_channels must be at least 1, got -1"),
        ({"kernel_size": 0}, "kernel_size must be at least 1, got 0"),
        ({"stride": 0}, "stride must be at least 1, got 0"),
        (
            {"kernel_size": (3, 3)},
            r"kernel_size must be an integer or one for each of \['L'\], got \(3, 3\)",
        ),
        (
            {"method": "fft"},
            r"method must be one of \['auto', 'direct', 'spectral'\], got 'fft'",
        ),
    ],
)
def test_bad_arguments_say_what_is_wrong(options, message):
    arguments = {"in_channels": 2, "out_channels": 4, "kernel_size": 3} | options
    with pytest.raises(ValueError, match=message):
        CircularConv1d(**arguments)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("kind", "shape", "message"),
    [
        (CircularConv1d, (1, 2, 5), r"at most the size of x, got \(7,\) for x of shape \(1, 2, 5"),
        (CircularConv2d, (1, 2, 5, 9), r"at most the size of x, got \(7, 7\)"),
        (CircularConv2d, (1, 2, 9, 6), r"at most the size of x, got \(7, 7\)"),
        (CircularConv1d, (1, 3, 9), r"shape \(B, 2, L\) for CircularConv1d, got \(1, 3, 9\)"),
        (CircularConv1d, (2, 9), r"shape \(B, 2, L\) for CircularConv1d, got \(2, 9\)"),
        (CircularConv2d, (1, 2, 9), r"shape \(B, 2, H, W\) for CircularConv2d, got \(1, 2, 9\)"),
    ],
)
def test_bad_inputs_say_what_is_wrong(kind, shape, message, method):
    with pytest.raises(ValueError, match=message):
        kind(2, 4, 7, method=method)(torch.zeros(shape))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("size", "k", "stride"), [(50, 50, 2), (25, 25, 2), ((16, 16), 16, 1)])
def test_cuda_graph_has_the_gradients_of_float64(size, k, stride):
    layer, x = make(size, k, stride, method="spectral")
    expected = dense(layer, x)
    expected = [expected, *gradients(expected, layer, x)]
    layer, x = layer.float().cuda(), x.detach().float().cuda().requires_grad_()
    weights = torch.arange(1.0, expected[0].numel() + 1, dtype=torch.float64).sin()
    weights = weights.view(expected[0].shape).float().cuda()

    def step():
        y = layer(x)
        return [y, *torch.autograd.grad((weights * y).sum(), [x, *layer.parameters()])]

    _constants._kept.cache_clear()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    graph.replay()
    assert_close([t.cpu() for t in captured], expected, 1e-4)  # float32
