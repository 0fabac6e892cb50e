"""Random calls of everything public: right ones, and right ones with something replaced."""

import dis
import math
import random
import tempfile
import warnings
from functools import partial

import torch
from torch import nn
from torch.nn import functional
from torch.utils import _pytree as pytree

import symsets
from symsets import RaggedSets, data, groups, models, ops, sets, testing, train
from symsets import nn as snn
from symsets.sets.folding import membership
from symsets.sets.partition import Partition
from symsets.tools.ranking import rank

OURS = (ValueError, TypeError, IndexError, FileNotFoundError, AssertionError)
PYTHONS = (TypeError, AttributeError, IndexError, NotImplementedError)  # of things of a wrong kind
# A list of lists, a tensor, or too few, in place of a number; a tensor without numbers.
OF_A_KIND = ("inhomogeneous", "Boolean value of Tensor", "zip()", "meta tensors", "dropout prob")
DTYPES = (torch.float32, torch.float64)
ODD_DTYPES = (torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64)
POOLS = ("sum", "mean", "max", "median", "power2", "power3")


class Draw(random.Random):
    """Draws arguments; ``wrong`` is how often one is replaced by something else."""

    wrong = 0.0

    def maybe(self, right):
        """Return the right value, or now and then another one."""
        return self.junk() if self.random() < self.wrong else right

    def unless_called(self, right):
        """Return the right value, or now and then one that cannot be called.

        What is called is the user's own, and so are its errors.
        """
        other = self.maybe(right)
        return right if callable(other) else other

    def one(self, *values):
        """Return one of the values, or now and then another one."""
        return self.maybe(self.choice(values))

    def junk(self):
        return self.choice(JUNK)(self)

    def tensor(self, *shape, dtype=None):
        dtype = self.choice(DTYPES) if dtype is None else dtype
        x = torch.randn(shape, generator=torch.Generator().manual_seed(self.getrandbits(32)))
        return (3 * x).abs().to(dtype) if dtype in ODD_DTYPES else x.to(dtype)

    def sizes(self, most=4):
        return [self.randint(0, most) for _ in range(self.randint(0, 4))]

    def sets(self, *element, dtype=torch.float32):
        """Return sets with elements of a shape, dense or ragged, or now and then others."""
        if self.random() < self.wrong:
            element = [self.randint(0, 5) for _ in range(self.randint(0, 4))]
        if self.random() < self.wrong:
            dtype = self.choice(ODD_DTYPES + DTYPES)
        if self.random() < 0.5:
            x = self.tensor(self.randint(0, 3), self.randint(0, 4), *element, dtype=dtype)
            if self.random() < 0.2 and x.ndim > 3:
                x = x.transpose(-1, -2).contiguous().transpose(-1, -2)
        else:
            sizes = self.sizes()
            x = RaggedSets(self.tensor(sum(sizes), *element, dtype=dtype), sizes)
        if self.random() < self.wrong / 4:
            x = x.to("meta")
        return self.maybe(x)

    def integers(self, num, below):
        return self.maybe(torch.tensor([self.randrange(max(below, 1)) for _ in range(num)]).long())


JUNK = [
    *(lambda draw, value=value: value for value in (None, "a", "", 0, -1, 3, 2.5, math.nan)),
    *(lambda draw, value=value: value for value in (math.inf, -math.inf, True, b"x", 300)),
    *(lambda draw, value=value: value for value in ((), [], {}, [None], (1, "a"), {"a": 1})),
    lambda draw: object(),
    lambda draw: nn.Linear(3, 2),
    lambda draw: lambda *given: None,
    lambda draw: draw.tensor(*(draw.randint(0, 3) for _ in range(draw.randint(0, 5)))),
    lambda draw: draw.tensor(2, 3, dtype=draw.choice(ODD_DTYPES)),
    lambda draw: torch.zeros(2, 3, 4, device="meta"),
    lambda draw: torch.full((2, 3), math.nan),
    lambda draw: RaggedSets(draw.tensor(3, 2), [1, 2]),
    lambda draw: RaggedSets(RaggedSets(draw.tensor(6, 3), [1, 2, 3]), [2, 1]),
]

ELEMENTS = {  # a map of elements, their shape, and whether it must be given a context
    "linear": (lambda draw: nn.Linear(3, 4), (3,)),
    "conv1d": (lambda draw: nn.Conv1d(3, 4, 3, padding=1), (3, 6)),
    "unpadded": (lambda draw: nn.Conv1d(3, 4, 3, dilation=2), (3, 6)),
    "conv2d": (lambda draw: nn.Conv2d(3, 4, 3, padding=1), (3, 5, 4)),
    "chain": (lambda draw: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), (3,)),
    "circular": (lambda draw: circular(draw), (3, 6)),
    "circular2d": (lambda draw: snn.CircularConv2d(3, 4, draw.one(1, 2, (2, 3))), (3, 4, 4)),
    "points": (lambda draw: snn.Exchangeable(3, 4, pool=draw.one("sum", "mean", "max")), (3, 5)),
    "matrix": (lambda draw: snn.AdjacencyLinear(3, 4, order=draw.one(2)), (3, 4, 4)),
    "group": (lambda draw: snn.EquivariantLinear(groups.Cyclic(4), 3, 4), (3, 4)),
}


def circular(draw):
    options = {"stride": draw.one(1, 1, 2), "method": draw.one("auto", "direct", "spectral")}
    return snn.CircularConv1d(draw.maybe(3), draw.maybe(4), draw.one(1, 3, 6), **options)


def element(draw):
    make, shape = ELEMENTS[draw.choice(list(ELEMENTS))]
    return draw.maybe(make(draw)), shape


def equivariant(layer, x):
    """Return what a layer gives; raise AssertionError unless reordered sets give the same."""
    y = layer(x)
    if isinstance(x, torch.Tensor) and x.ndim > 1 and x.shape[1] and not x.is_meta:
        again = layer(x.flip(1))
        expected = y.flip(1) if isinstance(y, torch.Tensor) and layer.returns_sets else y
        close = torch.allclose(again, expected, atol=1e-3, rtol=1e-3, equal_nan=True)
        if x.isfinite().all() and x.numel() and x.double().abs().max() < 100 and not close:
            raise RuntimeError("the layer is not equivariant")
    return y


def layer_of(kind):
    def call(draw):
        inner, shape = element(draw)
        options = {}
        if kind is snn.DSS:
            options = {"pool": draw.one(*POOLS), "size": draw.one(1.0, 3), "pool_last": False}
        elif kind is snn.ConcatPool:
            options = {"pool": draw.one("max", "mean", "median")}
        elif kind is snn.SetAttention:
            options = {"heads": draw.one(1, 2), "compare": draw.one("element", "summary")}
        elif kind is snn.Wreath:
            options = {"size": draw.one(1.0, 4.0)}
        elif kind is snn.Merge:
            options = {"pool": draw.one("sum", "mean", "max", "median"), "size": draw.one(1.0)}
        layer, x = kind(inner, **options), draw.sets(*shape)
        return partial(equivariant, layer.eval(), x)

    return call


def scheme_of(draw):
    make = draw.one(nn.Linear, partial(nn.Conv1d, kernel_size=1))
    scheme = draw.one(*symsets.schemes(), "dss-power2")
    layer = symsets.set_layer(scheme, make, draw.maybe(3), draw.maybe(4), size=draw.one(1.0, 5))
    return partial(equivariant, layer, draw.sets(*((3, 5) if isinstance(make, partial) else (3,))))


def chain(draw):
    parts = [snn.DSS(nn.Linear(3, 4)), nn.LayerNorm(4), nn.ReLU(), snn.Siamese(nn.Linear(4, 4))]
    kind = draw.one(snn.Sequential, snn.Sequential, nn.Sequential)
    parts = [draw.maybe(part) for part in parts[: draw.randint(1, 4)]]
    head = [snn.Classify(4, 2)] if draw.random() < 0.3 else []
    if kind is not snn.Sequential:  # what torch says of its own chain is torch's
        kind = snn.Sequential
    return partial(kind(*parts, *head).eval(), draw.sets(3))


def normalised(draw):
    norm, shape = draw.choice([(nn.BatchNorm1d(4), (3, 6)), (nn.BatchNorm2d(4), (3, 5, 5))])
    inner = nn.Conv1d(3, 4, 1) if len(shape) == 2 else nn.Conv2d(3, 4, 1)
    layer = snn.NormAct(draw.maybe(snn.DSS(inner)), draw.unless_called(norm), nn.ReLU())
    return partial(layer.eval(), draw.sets(*shape))


def head(kind):
    def call(draw):
        options = {
            "hidden": draw.one((), (5,), (4, 4)),
            "pool": draw.one(*POOLS),
            "entries": draw.one("sum", "mean", "max"),
            "size": draw.one(1.0, 4),
        }
        given = [draw.maybe(3)] + ([draw.maybe(2)] if kind is snn.Classify else [])
        shape = draw.choice([(3,), (3, 4), (3, 2, 2), (3, 0)])
        return partial(equivariant, kind(*given, **options), draw.sets(*shape))

    return call


def graph(draw):
    edges = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    weight = draw.one(None, torch.rand(4), torch.ones(4))
    made = snn.Graph(draw.maybe(edges), draw.maybe(4), edge_weight=weight, self_loops=draw.one(2.0))
    layer = snn.GraphConv(draw.maybe(3), draw.maybe(5), bias=draw.choice([True, False]))
    kind = draw.one(lambda layer: layer, snn.DSS, snn.Siamese)
    if kind not in (snn.DSS, snn.Siamese):
        x = draw.maybe(draw.tensor(2, 3, 4, dtype=torch.float32))
        return partial(layer, x, draw.maybe(made))
    return partial(kind(layer), draw.sets(3, 4), draw.maybe(made))


def spread(draw):
    x = draw.sets(3)
    num = len(x) if isinstance(x, torch.Tensor | RaggedSets) and x.ndim else 2
    return partial(sets.spread, draw.maybe(draw.tensor(num, 2)), x)


def keep(rows):
    return rows


def ragged(draw):
    sizes = draw.sizes()
    elements = draw.maybe(draw.tensor(sum(sizes), 3))
    made = RaggedSets(elements, draw.one(sizes, torch.tensor(sizes).long(), tuple(sizes)))

    def use():
        parts = [
            made.sizes,
            made.to_list(),
            made.detach(),
            made + made,
            repr(made),
            made.map(keep),
        ]
        which = draw.one(0, -1, slice(None), [0]) if sizes else slice(None)
        return [*parts, *made.to_padded(), made[draw.maybe(which)]]

    return use


def shared_partition(draw):
    partition = draw.maybe(Partition(draw.choice([[1, 2], [3], [0, 3]])))
    return partial(RaggedSets, draw.maybe(draw.tensor(3, 2)), partition=partition)


def select_loss(draw):
    num, size = draw.randint(0, 3), draw.randint(1, 4)
    scores = draw.tensor(num, size)
    if draw.random() < 0.5:
        sizes = [draw.randint(1, 4) for _ in range(num)]
        scores, size = RaggedSets(draw.tensor(sum(sizes)), sizes), min(sizes, default=1)
    reduction = draw.one("mean", "sum", "none") if num else draw.one("sum", "none")
    target = draw.integers(num, size + (draw.random() < draw.wrong))
    return partial(symsets.select_loss, draw.maybe(scores), target, reduction=reduction)


def metric(draw):
    kind = draw.choice(["accuracy", "ACCURACY", "mae", "psnr", "ssim"])
    if kind in ("accuracy", "ACCURACY"):
        num, size = draw.randint(0, 3), draw.randint(0, 3)
        named = train.Metric(draw.one("a", "b"), draw.unless_called(train.accuracy))
        function = train.accuracy if kind == "accuracy" else draw.choice([train.ACCURACY, named])
        num += not num and kind == "ACCURACY"
        sizes = [draw.randint(0, 3) for _ in range(num)]
        scores = draw.choice([draw.tensor(num, size), RaggedSets(draw.tensor(sum(sizes)), sizes)])
        return partial(function, draw.maybe(scores), draw.integers(num, size))
    shape = [draw.randint(0, 3), draw.randint(1, 3), 12, draw.choice([11, 12])]
    shape = shape if kind == "ssim" or draw.random() < 0.5 else shape[:2]
    other = shape if draw.random() > draw.wrong else [draw.randint(0, 3) for _ in shape]
    make = {"mae": train.mean_absolute_error, "psnr": train.psnr, "ssim": train.ssim}[kind]
    given = [draw.maybe(draw.tensor(*s, dtype=torch.float32)) for s in (shape, other)]
    return partial(make(draw.one(1.0, 255, 2.0)), *given)


def collate(draw):
    kinds = [
        lambda: draw.tensor(draw.randint(0, 3), 2),
        lambda: (draw.tensor(draw.randint(0, 3), 2), draw.randint(0, 3)),
        lambda: {"x": draw.tensor(2), "y": draw.random()},
        lambda: RaggedSets(draw.tensor(3, 2), [1, 2]),
        lambda: [draw.tensor(2, 2), "a"],
    ]
    make = draw.choice(kinds)
    samples = [draw.maybe(make()) for _ in range(draw.randint(1, 3))]
    return partial(symsets.collate, draw.maybe(samples))


def group(draw):
    makes = [
        lambda: groups.Symmetric(draw.one(1, 3, 5)),
        lambda: groups.Cyclic(draw.one(1, 4)),
        lambda: groups.Dihedral(draw.one(3, 4)),
        lambda: groups.Trivial(draw.one(1, 2)),
        lambda: groups.Translations(draw.one(2, 3), draw.one(2)),
        lambda: groups.wreath(draw.maybe(groups.Cyclic(3)), draw.one(2)),
        lambda: groups.parse(draw.one("S3 x C4", "C2 wr S3", "S3^2", "(S2 x C2) wr S2")),
        lambda: groups.DirectSum(draw.maybe(groups.Symmetric(3)), draw.one(groups.Cyclic(2))),
        lambda: groups.PermutationGroup([draw.one([1, 0, 2], [1, 2, 0], (0, 1, 2))]),
    ]
    use = draw.choice([groups.dimension, groups.basis, groups.describe])
    return partial(use, draw.maybe(draw.choice(makes)()))


def lift(draw):
    net = nn.Sequential(nn.Conv1d(3, 4, 1), nn.ReLU(), nn.Conv1d(4, 2, 1))
    scheme = draw.one("dss-sum", "dss-max", "siamese", "attention", "wreath")
    where = draw.one(None, ["0"], lambda name, module: name == "2")
    where = None if isinstance(where, nn.Module) else where
    lifted = symsets.lift(draw.unless_called(net), scheme, where, size=draw.one(1.0, 5))
    return partial(lifted, draw.sets(3, 5))


def checked(draw):
    options = {
        "trials": draw.one(1, 2),
        "seed": draw.one(0, 1),
        "task": draw.one("transform"),
        "symmetry": draw.unless_called(testing.roll(1)),
    }
    use = draw.choice([testing.equivariance_error, testing.assert_equivariant])
    layer = draw.unless_called(snn.DSS(nn.Conv1d(3, 4, 1)))
    return partial(use, layer, draw.sets(3, 6), **options)


def best(draw):
    channels, num_blocks = draw.choice([((2,), (1,)), ([2, 4], [1, 2])])
    net = models.BestNetwork(
        draw.one("dss-mean", "siamese", "attention"),
        channels=draw.maybe(channels),
        num_blocks=draw.maybe(num_blocks),
        hidden=draw.one((), (4,)),
    )
    if draw.random() < 0.5:
        return partial(net, draw.sets(3, draw.randint(5, 9), draw.randint(5, 9)))
    shots = [torch.rand(draw.choice([1, 3]), 16 + draw.randint(0, 4), 20) for _ in range(3)]
    shots = draw.maybe([draw.maybe(shot) for shot in shots])
    return partial(rank, shots, network=draw.unless_called(net), device=draw.one("cpu"))


def network(draw):
    if draw.random() < 0.3:
        return best(draw)
    if draw.random() < 0.5:
        net = models.SelectionNetwork(
            draw.one("dss-sum", "aittala", "siamese-ds", "attention"),
            recipe=draw.one("ours", "published"),
            widths=draw.maybe(((2, 2, 2), (2, 2, 2), (2, 2, 2))),
            num_elements=draw.one(2),
            dropout=draw.one(0.0, 0.5),
        )
        return partial(net.eval(), draw.sets(3, 64, 64))
    task = draw.one("transform", "merge")
    net = models.UNet(
        draw.one("dss-sum", "sridhar", "siamese", "wreath"),
        size=draw.one(64),
        recipe=draw.one("ours", "published"),
        widths=draw.maybe((2, 2, 2, 2)),
        task=task,
        dropout=draw.one(0.0, 0.5),
    )
    return partial(net.eval(), draw.sets(3, 64, 64))


def augment(draw):
    made = data.Augment(draw.one(2, 4), flip=draw.one(True, False), rotate=draw.one(True, False))
    use = partial(made, move=draw.one(True, False))
    shape = (draw.randint(0, 2), draw.randint(0, 3), 3, draw.randint(4, 6), 5)
    return partial(use, draw.maybe(draw.tensor(*shape)))


def labelled(draw):
    num = draw.randint(2, 4)
    made = data.LabelledSets(draw.maybe(draw.tensor(num, 2, 3)), draw.integers(num, 2))

    def use():
        first = made.first(draw.one(1, 2))
        return [repr(made), made.part(0, 2), first.batch(torch.zeros(2).long())]

    return use


def plan(draw):
    names = ("epochs", "batch_size", "learning_rate", "patience", "weight_decay", "average")
    values = (4, 2, 1e-3, 5, 0.0, 0.5)
    given = dict(zip(names, map(draw.maybe, values), strict=True))
    options = {"schedule": draw.one("cosine", "constant"), "precision": draw.one("float32")}
    more = {"clip": draw.one(0.0, 1.0), "decay": draw.one(1.0, 0.5), "decay_every": draw.one(1, 2)}
    made = train.Plan(**given, **options, **more, validate_every=draw.one(1, 2))
    return partial(made.steps_per_epoch, draw.one(5, 8))


def task_of(draw):
    metrics = draw.one((train.ACCURACY,), [train.ACCURACY])
    loss = draw.unless_called(functional.cross_entropy)
    return train.Task(loss, metrics, keep_outputs=draw.one(True, False))


def evaluate(draw):
    net = snn.Sequential(snn.DSS(nn.Linear(3, 4)), snn.Classify(4, 3))
    net, num = draw.unless_called(net), draw.randint(1, 4)
    x = draw.tensor(num, 2, 3, dtype=torch.float32)
    given = draw.maybe(data.LabelledSets(x, torch.arange(num) % 3))
    options = {"precision": draw.one("float32"), "batch_size": draw.one(2, 512)}
    return partial(train.evaluate, net, given, draw.maybe(task_of(draw)), **options)


def capture(draw):
    net = snn.Sequential(snn.DSS(nn.Linear(3, 4)), snn.Classify(4, 3))
    optimiser = torch.optim.SGD(net.parameters(), lr=1e-3)
    options = {"precision": draw.one("float32", "bfloat16"), "clip": draw.one(0.0, 1.0)}
    loss = draw.unless_called(functional.cross_entropy)
    step = train.capture(draw.unless_called(net), draw.maybe(optimiser), loss, **options)
    num = draw.randint(1, 3)
    return partial(step, draw.tensor(num, 2, 3, dtype=torch.float32), torch.zeros(num).long())


def ensemble(draw):
    members = [snn.Sequential(snn.DSS(nn.Linear(3, 4)), snn.Classify(4, 3)) for _ in range(2)]
    members = draw.maybe([draw.maybe(member) for member in members])
    made = train.Ensemble(members)
    return partial(made, draw.maybe(draw.tensor(2, 2, 4, 3, dtype=torch.float32)))


def simple(function, *shape, **options):
    """Return calls of a function of sets, with options that are drawn from what is given."""

    def call(draw):
        given = {name: draw.one(*values) for name, values in options.items()}
        if "fn" in options:
            given = {"fn": draw.unless_called(draw.choice(options["fn"]))}
        return partial(function, draw.sets(*shape), **given)

    return call


def for_any_size(draw):
    net = snn.DSS(nn.Linear(3, 4), pool=draw.one("sum", "max"), size=draw.one(1.0, 3.0))
    return partial(snn.for_any_size(draw.unless_called(net)), draw.sets(3))


def packed(draw):
    sizes = draw.sizes()
    layer = snn.Packed(snn.DSS(nn.Linear(3, 4)))
    elements = draw.maybe(draw.tensor(sum(sizes), 3, dtype=torch.float32))
    return partial(layer, elements, draw.maybe(torch.tensor(sizes).long()))


def operation(draw):
    """Return a right call: operations are called by layers, which explain what goes wrong."""
    x = draw.tensor(2, 3, 8, 8, dtype=torch.float32)
    dense = draw.tensor(2, draw.randint(1, 4), 3, 5)
    eye = ops.SparseMatrix.from_entries(torch.arange(3), torch.arange(3), torch.ones(3), 3)
    return draw.choice(
        [
            partial(ops.max_pool, x, 2),
            partial(ops.channel_norm, x, 1e-3),
            partial(ops.gate, torch.cat([x, x], dim=1)),
            partial(ops.add_bias, x, torch.randn(3)),
            partial(ops.enlarge, x, 2, align_corners=draw.choice([True, False])),
            partial(ops.conv2d, x, torch.randn(4, 3, 3, 3), None, (1, 1), (1, 1)),
            partial(ops.set_max, dense),
            partial(ops.reduce_sets, dense, torch.mean),
            partial(ops.memory_order, dense),
            partial(ops.to_fast_layout, dense),
            lambda: eye @ draw.tensor(3, 4, dtype=torch.float32),
        ]
    )


def fitted(draw):
    net = snn.Sequential(snn.DSS(nn.Linear(3, 4)), snn.Classify(4, 2))
    made = data.LabelledSets(draw.tensor(4, 2, 3, dtype=torch.float32), draw.integers(4, 2))
    given = [[net], draw.maybe([0]), draw.maybe(train.Plan(1, 2)), draw.maybe(made)]
    options = {"device": draw.one("cpu")}
    return partial(
        train.fit_together, draw.maybe(given[0]), *given[1:], made, task_of(draw), **options
    )


def fitted_alone(draw):
    net = snn.Sequential(snn.DSS(nn.Linear(3, 4)), snn.Classify(4, 2))
    x, y = draw.tensor(6, 2, 3, dtype=torch.float32), draw.integers(6, 2)
    forms = [(x, y), [(x[k], k % 2) for k in range(6)], [draw.maybe((x[0], 0)), (x[1], 1)]]
    names = {"epochs": (1,), "batch_size": (2, 8), "learning_rate": (1e-3,), "seeds": (1, 2)}
    options = {name: draw.one(*values) for name, values in names.items()}
    more = {"task": ("classify", None), "loss": (None,), "metrics": (None, (train.ACCURACY,))}
    options |= {name: draw.one(*values) for name, values in more.items()}
    more = {"seed": (0, 3), "device": ("cpu",), "workers": (0,)}
    options |= {name: draw.one(*values) for name, values in more.items()}
    options |= {"class_weights": draw.one(None, "balanced", [1.0, 2.0]), "progress": False}
    val = draw.one(None, (x, torch.arange(6) % 2))
    options |= {"patience": None if val is None else draw.one(None, 2)}  # it goes by val
    return lambda: weights_of(train.fit(draw.maybe(net), draw.one(*forms), val, **options))


def weights_of(nets):
    return [list(net.parameters()) for net in (nets if isinstance(nets, list) else [nets])]


def card_of(draw):
    names = {"classes": ("a", "b"), "element": {"size": [4]}, "metrics": {"accuracy": 0.5}}
    given = {name: draw.maybe(value) for name, value in names.items()}
    target = draw.one({}, {"mean": [draw.one(1.0)], "std": [draw.one(1.0)]})
    return models.Card(draw.one("classify"), draw.one("vectors"), **given, target=target)


def carded(draw):
    made = card_of(draw)
    return partial(models.Card.from_dict, draw.maybe(made.to_dict()))


def predicted(draw):
    net = snn.Sequential(snn.DSS(nn.Linear(3, 4)), snn.Classify(4, 2))
    net.card = draw.maybe(card_of(draw))
    x = draw.tensor(3, 2, 3, dtype=torch.float32)
    given = draw.one(x, list(x), RaggedSets(x.flatten(0, 1), [1, 2, 3]), [draw.maybe(x[0])])
    options = {"batch_size": draw.one(2, 8), "device": draw.one("cpu"), "workers": draw.one(0)}
    return lambda: [a.probabilities for a in train.predict(draw.maybe(net), given, **options)]


def saved(draw):
    net = snn.Sequential(snn.DSS(nn.Linear(3, 4)), snn.Classify(4, 2))
    net.card = draw.maybe(card_of(draw))

    def use():
        with tempfile.TemporaryDirectory() as folder:
            symsets.save(draw.maybe(net), folder)
            return list(symsets.load(folder, allow=draw.one((), ["a.B"])).parameters())

    return use


def clips(draw):
    parts = [draw.tensor(draw.randint(1, 3), 3, 4, 4, dtype=torch.uint8) for _ in range(2)]
    return partial(lambda: list(data.Clips.join(parts, ["a/1", "b/2"]).each()))


def path_of(draw):
    function = draw.choice([symsets.load, data.ImageFolder, data.VideoFolder, data.ImagePack])
    return partial(function, draw.one("no-such-folder", "colors-dss"))


def building(draw):
    arguments = {"model": draw.one("dss-sum"), "widths": [2, 2, 2, 2], "size": draw.one(64)}
    return partial(models.build, draw.one("unet"), draw.maybe(arguments))


def registering(draw):
    register = draw.choice([symsets.register_scheme, models.register_network])
    return partial(register, draw.one("dss-sum", "siamese"))


LAYERS = (
    *(snn.DSS, snn.Siamese, snn.ConcatPool, snn.RemoveMean, snn.SetAttention, snn.Wreath),
    snn.Merge,
)


def modern(draw):
    """Return a call of a norm, a residual block, a pool by attention or induced attention."""
    shape = draw.choice([(4,), (4, 5), (4, 3, 3)])
    kind = draw.randrange(4)
    if kind == 0:
        return partial(
            equivariant, snn.SetNorm(draw.maybe(4), eps=draw.one(1e-5)), draw.sets(*shape)
        )
    if kind == 1:
        layer = snn.Residual(draw.maybe(snn.SetNorm(4)), draw.maybe(snn.DSS(nn.Linear(4, 4))))
        return partial(equivariant, layer, draw.sets(4))
    if kind == 2:
        options = {"num_queries": draw.one(1, 3), "heads": draw.one(1, 2), "gated": draw.one(True)}
        pool = snn.AttentionPool(draw.maybe(4), **options)
        call = draw.choice([pool, pool.weights, snn.Classify(4, 2, pool=pool)])
        return partial(call, draw.sets(4))
    inner, shape = element(draw)
    options = {"num_points": draw.one(1, 4), "heads": draw.one(1, 2)}
    layer = snn.InducedAttention(inner, in_channels=draw.maybe(3), **options)
    return partial(equivariant, layer.eval(), draw.sets(*shape))


def made_network(draw):
    kind, size, shape = draw.choice(
        [("pictures", [8, 8], (3, 8, 8)), ("vectors", None, (3,)), ("signals", [16], (3, 16))]
    )
    task = draw.choice(["classify", "labels", "regress", "select", "score"])
    options = {"scheme": draw.one("dss-mean", "siamese", "isab"), "width": draw.one(4, 8)}
    if draw.random() < 0.5:
        given = {"channels": draw.maybe(3), "outputs": draw.one(1, 2), "size": draw.maybe(size)}
        net = models.SetNetwork(draw.maybe(task), draw.maybe(kind), **given, **options)
    else:
        prepared = {"channels": 3} | ({} if size is None else {"size": size, "length": size[0]})
        classes = ("a", "b") if task in ("classify", "labels") else ()
        card = models.Card(task, kind, classes=classes, element=draw.maybe(prepared))
        net = models.network_for(draw.maybe(card), pool=draw.one("max", "attention"), **options)
    return partial(net.eval(), draw.sets(*shape))


def merging(draw):
    """Return a call of a network that merges bursts, or of one of its bursts."""
    shape = (3, draw.randint(1, 9), draw.randint(1, 9))
    if draw.random() < 0.5:
        num, size = draw.randint(1, 3), draw.randint(1, 4)
        x = draw.maybe(draw.tensor(num, size, *shape))
        return partial(models.with_reference, x, draw.one(0, size - 1, [0] * num))
    options = {"channels": draw.one(2, 4), "num_blocks": draw.one(1, 2)}
    options |= {"merged_channels": draw.one((4,), [2]), "merged_blocks": draw.one((1,), [2])}
    net = models.MergeNetwork(draw.one("dss-mean", "siamese", "attention"), **options)
    num = draw.randint(1, 3)
    return partial(net, draw.maybe(draw.tensor(num, 2, 4, *shape[1:], dtype=torch.float32)))


def merged(draw):
    shots = torch.rand(draw.randint(1, 3), draw.choice([1, 3]), draw.randint(16, 40), 20)
    shots = 0.1 * shots + torch.rand_like(shots[:1]) * 0.9
    options = {"merged_channels": (2,), "merged_blocks": (1,), "channels": 2, "num_blocks": 1}
    return partial(
        symsets.merge,
        draw.maybe([draw.maybe(shot) for shot in shots]),
        reference=draw.one("auto", 0),
        network=draw.unless_called(models.MergeNetwork(**options)),
        maps=draw.maybe(torch.eye(2, 3).repeat(len(shots), 1, 1)),
        device=draw.one("cpu"),
        tile=draw.one(200, 300),
    )


def graph_sets(draw):
    sizes = [draw.randint(1, 4) for _ in range(3)]
    nodes = RaggedSets(draw.tensor(sum(sizes), 2, dtype=torch.float32), sizes)
    edges = RaggedSets(torch.zeros(3, 2, dtype=torch.int64), [1, 0, 2])
    return partial(sets.GraphSets, draw.maybe(nodes), draw.one([1, 2], [3]), draw.maybe(edges))


CALLS = {
    **{kind.__name__: layer_of(kind) for kind in LAYERS},
    "set_layer": scheme_of, "Sequential": chain, "NormAct": normalised,
    "Classify": head(snn.Classify), "Select": head(snn.Select), "Graph": graph,
    "for_any_size": for_any_size, "Packed": packed,
    "RaggedSets": ragged, "Partition": shared_partition, "select_loss": select_loss,
    "pool": simple(sets.pool, 3, how=POOLS, size=(1.0, 4)),
    "power_sums": simple(sets.power_sums, 3, degree=(1, 3), size=(1.0,)),
    "softmax": simple(sets.softmax, 3), "fold": simple(sets.fold, 3),
    "map_elements": simple(sets.map_elements, 3, fn=(keep,)),
    "membership": simple(membership, 3), "spread": spread, "collate": collate,
    "groups": group, "lift": lift, "testing": checked,
    "metrics": metric, "Plan": plan, "Task": lambda draw: partial(task_of, draw),
    "evaluate": evaluate, "capture": capture, "Ensemble": ensemble,
    "models": network, "build": building, "register": registering,
    "fit_together": fitted, "fit": fitted_alone, "predict": predicted, "save": saved,
    "Card": carded, "ops": operation, "Augment": augment, "LabelledSets": labelled,
    "Clips": clips, "paths": path_of, "modern": modern, "network_for": made_network,
    "GraphSets": graph_sets, "MergeNetwork": merging, "merge": merged,
}  # fmt: skip


REFUSED = ("paths", "register")  # nothing there is right
NOT_CALLED = {  # public names that are no functions, or write files, or are called by the others
    "Sets": "a type",
    "Pool": "a type",
    "SetDataset": "a base class",
    "ImageSource": "a protocol",
    "VideoSource": "a protocol",
    "MissingDataError": "an error",
    "OnTheFlySets": "a base class",
    "SetModule": "a base class",
    "SetLayer": "a base class",
    "AdditiveSetLayer": "a base class",
    "TrainingStep": "made by capture",
    "Fitted": "made by fit_together",
    "Evaluation": "made by evaluate",
    "Prediction": "made by predict",
    "Lifted": "made by lift",
    "figure": "draws a picture",
    "pack_folder": "writes a file",
    "VideoPack": "as ImagePack",
    "plain": "a switch",
    "captured": "a switch",
    "norm_act": "called by NormAct",
    "circular_conv": "called by CircularConv1d",
    "add_to_elements": "called by DSS",
    "pretrained": "takes nothing",
    "SetFolder": "reads files: tests/data/set_folder",
    "looks_like_sets": "reads files: tests/data/set_folder",
}


def outcome(name, seed, wrong):
    """Make one call; return None if its outcome is right, and else what was wrong with it."""
    draw = Draw(f"{name} {seed}")
    draw.wrong = wrong = 0.0 if name == "ops" else wrong
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = CALLS[name](draw)()
        except Exception as error:
            return unexplained(error, wrong if name not in REFUSED else 1.0)
    parts = [part for part in pytree.tree_leaves(result) if isinstance(part, torch.Tensor)]
    if wrong == 0 and not all(part.is_meta or part.isfinite().all() for part in parts):
        return "not finite"
    return None


def unexplained(error, wrong):
    """Return what is wrong with an error: of a right call any, of a wrong one what torch says.

    Arguments of a wrong kind may be refused by Python, and indices by NumPy, in their own words.
    """
    place = error.__traceback__
    while place.tb_next is not None:
        place = place.tb_next
    code, module = place.tb_frame.f_code, str(place.tb_frame.f_globals.get("__name__"))
    raised = code.co_code[place.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    where = f"{module}:{place.tb_lineno}"
    if wrong == 0:
        return f"refused a right call: {type(error).__name__} of {where}: {error}"
    if not (isinstance(error, OURS) and module.startswith("symsets.") and raised):
        of_a_kind = isinstance(error, PYTHONS) or any(word in str(error) for word in OF_A_KIND)
        return None if of_a_kind else f"{type(error).__name__} of {where}: {error}"
    if not str(error) or "\n" in str(error).split("\n\n")[0] or len(str(error)) > 600:
        return f"no sentence from {where}: {error}"
    return None
