from dataclasses import replace

import pytest
import torch

image = pytest.importorskip("matplotlib.image", reason="needs matplotlib")

from matplotlib.colors import to_rgb  # noqa: E402

from symsets.experiments.report._answers import Answer, Sets  # noqa: E402
from symsets.experiments.report._shapes import GHOST, SKIN, draw_shapes  # noqa: E402
from symsets.pages.drawing import DPI, INK, NO, YES  # noqa: E402
from symsets.pages.sheets import GAP  # noqa: E402

FACES = torch.tensor([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])
CORNERS = torch.tensor([[0.0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


def sets(num):
    """Return a tetrahedron that moves to the right, in the order of time."""
    moved = torch.arange(7.0)[:, None, None] * torch.tensor([0.2, 0, 0])[:, None]
    return (CORNERS + moved).expand(num, -1, -1, -1)


def picture(x, faces, target, picks, *, seed=0):
    """Draw sets and the places that models picked in each."""
    scores = {m: torch.nn.functional.one_hot(torch.tensor(c), 7).float() for m, c in picks.items()}
    answers = {model: Answer(output, seed) for model, output in scores.items()}
    more = {} if faces is None else {"faces": faces}
    return draw_shapes(Sets(x, torch.tensor(target), answers, more))


def drawn(picture, folder, name="p"):
    return image.imread(replace(picture, name=name).save_png(folder))[..., :3]


def colours(picture):
    """Return the colour of each shape, whatever its light."""
    known = {c: direction(to_rgb(c)) for c in (SKIN, GHOST, YES, NO)}
    nearest = (direction(s.get_facecolor()[-1, :3]) for s in picture.figure.axes[0].collections)
    return [max(known, key=lambda c: known[c] @ found) for found in nearest]


def direction(colour):
    return torch.nn.functional.normalize(torch.tensor(colour, dtype=torch.float64), dim=0)


def red(pixels):
    """Return how many pixels are red."""
    return int(((pixels[..., 0] > 0.5) & (pixels[..., 1:] < 0.45).all(-1)).sum())


def texts(picture):
    return [text.get_text() for text in picture.figure.axes[0].texts]


@pytest.mark.parametrize("faces", [FACES, None])
def test_right_and_wrong_picks_are_seen(tmp_path, faces):
    wrong = picture(sets(1), faces, [3], {"dss-sum": [5], "mean-shape": [5]})
    right = picture(sets(1), faces, [3], {"dss-sum": [3], "mean-shape": [3]})
    assert colours(wrong) == [*([SKIN] * 7), YES, GHOST, NO, GHOST, NO]
    assert colours(right) == [*([SKIN] * 7), YES, YES, YES]
    assert red(drawn(wrong, tmp_path / "a")) > 100 > 10 * red(drawn(right, tmp_path))
    assert texts(wrong).count("6 ✗") == texts(right).count("4 ✓") == 2
    assert "✓" not in "".join(texts(wrong))
    assert "✗" not in "".join(texts(right))


def test_the_central_frame_is_in_a_box():
    axis = picture(sets(1), FACES, [3], {"dss-sum": [0]}).figure.axes[0]
    (box,) = axis.patches
    (number,) = (text for text in axis.texts if text.get_text() == "4" and text.get_color() == INK)
    (left, top), (right, bottom) = box.get_bbox().get_points()
    x, y = number.get_position()
    assert left < x < right
    assert top < y < bottom
    inside = [shape for shape in axis.collections[:7] if left < extent(shape)[0] < right]
    assert inside == [axis.collections[3]]
    low, high = extent(inside[0])
    assert left < low < high < right


def extent(shape):
    x = torch.cat([torch.tensor(path.vertices[:, 0]) for path in shape.get_paths()])
    return float(x.min()), float(x.max())


def test_several_sets_lie_below_each_other(tmp_path):
    one = drawn(picture(sets(1), FACES, [3], {"dss-sum": [3]}), tmp_path)
    two = drawn(picture(sets(2), FACES, [3, 3], {"dss-sum": [3, 3]}), tmp_path)
    margin = GAP * DPI
    assert two.shape[0] - margin == pytest.approx(2 * (one.shape[0] - margin), abs=2)
    assert two.shape[1] == one.shape[1]


def test_as_many_models_as_there_are():
    picks = {f"model{i}": [i % 7] for i in range(9)}
    many = picture(sets(1), FACES, [3], picks)
    assert set(picks) < set(texts(many))
    assert many.figure.get_size_inches()[0] == pytest.approx(9, abs=0.1)
    assert "model3 1 of 1, model4 0 of 1" in many.caption


def test_models_are_called_by_their_seed_if_it_is_not_the_first():
    named = picture(sets(1), FACES, [3], {"dss-sum": [3]}, seed=2)
    assert "DSS(sum), seed 2" in texts(named)


def test_shapes_are_pixels_in_a_page():
    """Thousands of faces as lines would make a page that no browser opens."""
    page = picture(sets(1), FACES, [3], {"dss-sum": [5]}).svg()
    assert "data:image/png;base64," in page
    assert page.count("<path") < 100
    assert NO in page
    assert len(page) < 200_000
