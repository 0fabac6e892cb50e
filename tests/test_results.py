"""What is kept under ``results/``: little, cited, and in agreement with itself."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results"
CITING = [ROOT / "README.md", *(p for d in ("docs", "benchmarks") for p in (ROOT / d).rglob("*"))]
TEXTS = {p: p.read_text(encoding="utf-8") for p in CITING if p.suffix in (".md", ".py")}
TEXT = "\n".join(TEXTS.values())
OF_A_STUDY = r"results\.json|study\.json|skips-[^/]+\.json|report\.html"
OF_A_RUN = r"runs/[^/]+/(done\.json|network\.json|predictions\.npz)"
RUNS = sorted(RESULTS.glob("*/runs/*/predictions.npz"))


def kept_files():
    """The files of the repository under ``results/``, without what a person has left there."""
    command = ["git", "ls-files", "-z", "results"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    names = found.stdout.split("\0")[:-1]
    paths = [ROOT / name for name in names] if names else RESULTS.rglob("*")
    return sorted(path for path in paths if path.is_file())


def is_cited(name):
    """Whether a path is named somewhere, and not only a longer one that begins with it."""
    return re.search(rf"{re.escape(name)}(?![\w-])", TEXT) is not None


def test_results_take_little_space():
    blocks = (-(-path.stat().st_size // 4096) * 4096 for path in kept_files())  # as on a disk
    assert sum(blocks) < 15e6


def test_every_file_is_cited():
    for path in kept_files():
        parts = path.relative_to(ROOT).parts
        in_archive = parts[1] == "archive"
        study = "/".join(parts[: 2 + in_archive])
        rest = "/".join(parts[2 + in_archive :])
        if parts[1] == "benchmarks" or parts[-2] == "figures":
            assert is_cited("/".join(parts)), f"nothing cites {path}"
        else:
            assert re.fullmatch(f"{OF_A_STUDY}|{OF_A_RUN}", rest), f"a study needs no {path}"
            assert is_cited(study), f"nothing cites {study}"


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_that_are_cited_are_there(page):
    for name, commit in re.findall(r"(results/[\w./*-]*[\w/])`?(\s+at\s+commit)?", TEXTS[page]):
        if not commit:
            assert list(ROOT.glob(name)), f"{page} cites {name}, which is not there"


def read_done(run):
    content = json.loads((run / "done.json").read_text(encoding="utf-8"))
    return content["records"] if isinstance(content, dict) else content  # bare in older runs


def test_predictions_give_the_numbers_that_were_recorded():
    assert len(RUNS) > 400
    for path in RUNS:
        with np.load(path) as file:
            found = {name: file[name].astype(np.float64) for name in file}
        for record in read_done(path.parent):
            mean = found[record["metric"]].mean()
            assert mean == pytest.approx(record["value"], rel=1e-5), path


def test_scores_that_were_kept_select_what_was_counted():
    for path in RUNS:
        with np.load(path) as file:
            if "output" not in file:
                continue
            scores, target, accuracy = file["output"], file["target"], file["accuracy"]
        tied = (scores == scores.max(1, keepdims=True)).sum(1) > 1  # counted by a draw
        right = scores.argmax(1) == target
        assert np.array_equal(right[~tied], accuracy[~tied] == 1), path
