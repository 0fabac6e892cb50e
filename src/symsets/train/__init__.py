"""Fitting networks, and what runs leave behind.

Train your own sets in ten lines. All you need is a tensor of sets ``(M, N, C, *E)``, a target for
each of them and a network; here, which of eight points is nearest to the mean of all?

    >>> import torch
    >>> from symsets import DSS, Sequential, select_loss
    >>> from symsets.data import LabelledSets
    >>> from symsets.nn import Select
    >>> from symsets.train import ACCURACY, Plan, Task, capture, evaluate, fit_together
    >>> _ = torch.manual_seed(0)
    >>> x = torch.randn(1200, 8, 2)
    >>> y = (x - x.mean(1, keepdim=True)).square().sum(2).argmin(1)
    >>> train, val, test = (LabelledSets(x[i::3], y[i::3]) for i in range(3))
    >>> net = Sequential(DSS(torch.nn.Linear(2, 32), pool="mean"), torch.nn.ReLU(), Select(32))
    >>> task = Task(select_loss, (ACCURACY,))  # what to make small, what to report
    >>> [fitted] = fit_together([net], [0], Plan(epochs=5, learning_rate=1e-2), train, val, task)
    >>> net.load_state_dict(fitted.best)  # the weights of the epoch that validation liked most
    <All keys matched successfully>
    >>> [found] = evaluate(net.eval(), test, task)
    >>> found.mean("accuracy") > 0.25  # chance: 0.125
    True

Several networks and seeds train as one computation; anything with the methods of
:class:`~symsets.data.SetDataset` takes the place of :class:`~symsets.data.LabelledSets` and may
make fresh sets in every step. ``examples/train_your_own.py`` has more to read.

In a loop of your own, :func:`capture` makes the training step; on a GPU it becomes a CUDA graph:

    >>> optimiser = torch.optim.AdamW(net.parameters(), lr=1e-3)
    >>> step = capture(net, optimiser, select_loss)
    >>> for x, y in torch.utils.data.DataLoader(train, batch_size=50):
    ...     loss = step(x, y)  # a tensor
"""

from symsets.train.capturing import TrainingStep, capture
from symsets.train.ensemble import Ensemble
from symsets.train.evaluation import Evaluation, evaluate
from symsets.train.fit_network import fit
from symsets.train.fitting import Fitted, fit_together
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
