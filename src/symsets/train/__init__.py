"""Train networks, measure them, and predict with them.

Train your own sets in ten lines. All you need is a tensor of sets ``(M, N, C, *E)``, a target for
each of them and a network; here, which of eight points is nearest to the mean of all?

    >>> import torch
    >>> from symsets import DSS, Sequential, load, save
    >>> from symsets.nn import Select
    >>> from symsets.train import fit, predict
    >>> _ = torch.manual_seed(0)
    >>> x = torch.randn(1200, 8, 2)
    >>> y = (x - x.mean(1, keepdim=True)).square().sum(2).argmin(1)
    >>> train, val, test = ((x[i::3], y[i::3]) for i in range(3))
    >>> net = Sequential(DSS(torch.nn.Linear(2, 32), pool="mean"), torch.nn.ReLU(), Select(32))
    >>> net = fit(net, train, val, epochs=8, learning_rate=1e-2, progress=False)
    >>> [len(net.history), net.card.task]  # the weights are those of the best epoch
    [8, 'select']
    >>> answers = predict(net, test)
    >>> right = sum(a.chosen == t for a, t in zip(answers, test[1].tolist()))
    >>> right / len(answers) > 0.25  # chance: 0.125
    True

A ``SetFolder``, any ``Dataset`` or ``DataLoader`` takes the place of the tensors, and sets may
differ in size. ``save`` and ``load`` keep the network with its task:

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> save(net, folder)
    >>> [a.chosen for a in predict(load(folder), test)] == [a.chosen for a in answers]
    True

``examples/train_your_own.py`` has more to read. :func:`fit_together` trains several networks of
your own as one computation, by a :class:`Plan` and a :class:`Task`; it is what experiments use.

In a loop of your own, :func:`capture` makes the training step; on a GPU it becomes a CUDA graph:

    >>> from symsets import select_loss
    >>> from symsets.data import LabelledSets
    >>> from symsets.train import capture
    >>> optimiser = torch.optim.AdamW(net.parameters(), lr=1e-3)
    >>> step = capture(net.train(), optimiser, select_loss)
    >>> for x, y in torch.utils.data.DataLoader(LabelledSets(*train), batch_size=50):
    ...     loss = step(x, y)  # a tensor
"""

from symsets.train.capturing import TrainingStep, capture
from symsets.train.ensemble import Ensemble
from symsets.train.evaluation import Evaluation, evaluate
from symsets.train.fit_network import fit
from symsets.train.fitted import Fitted
from symsets.train.fitting import fit_together
from symsets.train.metrics import ACCURACY, Metric, Task, accuracy, mean_absolute_error, psnr, ssim
from symsets.train.plan import Plan
from symsets.train.predicting import Prediction, predict

__all__ = [
    # training
    "fit",
    "fit_together",
    "Plan",
    "Fitted",
    "Ensemble",
    "capture",
    "TrainingStep",
    # what is learnt and measured
    "Task",
    "Metric",
    "ACCURACY",
    "accuracy",
    "mean_absolute_error",
    "psnr",
    "ssim",
    # what came out
    "predict",
    "Prediction",
    "evaluate",
    "Evaluation",
]
