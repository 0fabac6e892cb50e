"""The sheet of satellite scenes."""

import re

import pytest
import torch

from symsets.experiments.report._answers import Answer, Sets
from symsets.experiments.report._scenes import STRONGER, _error, draw_scenes
from symsets.experiments.satellite.metric import cpsnr


def scenes(num=2, side=24):
    torch.manual_seed(0)
    truth = 0.05 + 0.1 * torch.rand(num, 1, side, side)
    clear = torch.ones_like(truth)
    clear[:, :, :5] = 0
    target = torch.cat([truth, clear, torch.full_like(truth, 0.01)], dim=1)
    answers = {"dss-mean": truth + 1e-3 * torch.randn_like(truth), "bicubic": truth.mean() + truth}
    return Sets(truth, target, {model: Answer(output) for model, output in answers.items()})


def test_every_answer_stands_with_its_own_measure():
    sets = scenes()
    drawn = draw_scenes(sets)
    texts = [text.get_text() for text in drawn.figure.axes[0].texts]
    output = sets.answers["dss-mean"].output
    for value in cpsnr(output, sets.target).tolist():
        assert f"{value:.2f} dB" in texts
    assert texts.count("truth") == texts.count("DSS(mean)") == texts.count("bicubic") == 2
    assert len(drawn.figure.axes[0].images) == 2 * 2 * 3
    assert re.search(r"cPSNR: DSS\(mean\) \d\d\.\d\d, bicubic", drawn.description)


def test_errors_are_those_of_clear_pixels_without_what_all_have_in_common():
    sets = scenes(num=1)
    output = sets.target[:, :1] + 0.02
    output[0, 0, 10, 12] += 0.01
    output[0, 0, 1, 1] = torch.nan  # under clouds
    error = _error(output, sets.target)
    assert error.shape == (1, 18, 18)
    place = divmod(int(error.argmax()), 18)
    assert place == (10 - 3, 12 - 3)
    assert error[0][place].item() == pytest.approx(STRONGER * 0.01, rel=0.02)
    assert error.flatten().sort().values[:-1].abs().max() < 1e-3
