"""Networks to check from files."""

import pytest
import torch
from torch import nn

from symsets.tools.checking import check
from symsets.tools.targets import read_shape, read_target

CODE = """
import torch
from torch import nn

def make():
    return nn.Dropout(), torch.ones(2, 5)

def with_more():
    return lambda x, scale: scale * x, (torch.ones(2, 3), torch.ones(1))

def nothing():
    return 3

def integers():
    return nn.ReLU(), torch.arange(3)

def fails():
    raise KeyError("oh")

number = 3
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "mine.py").write_text(CODE)
    return f"{tmp_path}/mine.py"


def test_a_function_makes_network_and_input(file):
    found = read_target(f"{file}:make")
    assert found.x.dtype == torch.float64
    assert not found.network.training
    assert found.tolerance == 1e-9


def test_of_several_inputs_the_first_is_moved(file):
    found = read_target(f"{file}:with_more")
    assert found.more[0].dtype == torch.float64
    assert check(found, "flip").outputs[0].kept == "invariant"


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("", r"TARGET must be file\.py:function or file\.onnx"),
        (":make()", r"TARGET must be file\.py:function"),
        (":other", "must define a function other, got None"),
        (":number", "must define a function number, got 3"),
        (":nothing", "nothing must return a network and its input"),
        (":integers", "integers must return an input of floats"),
        (":fails", r"mine\.py, line 18: KeyError"),
    ],
)
def test_what_is_wrong_with_a_function_is_told(file, end, message):
    with pytest.raises(ValueError, match=message):
        read_target(f"{file}{end}")


def test_missing_files_are_told(tmp_path):
    with pytest.raises(ValueError, match=r"TARGET must name a Python file, got .*none"):
        read_target(f"{tmp_path}/none.py:make")
    with pytest.raises(ValueError, match="TARGET must be a file"):
        read_target(f"{tmp_path}/none.onnx")


def test_shapes_are_read():
    assert read_shape("2,5") == [2, 5]
    for text in ("", "2,x", "0,3"):
        with pytest.raises(ValueError, match="--shape must be sizes such as"):
            read_shape(text)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    pytest.importorskip("onnxscript")
    path = tmp_path_factory.mktemp("onnx") / "net.onnx"
    net = nn.Conv1d(3, 4, 3, padding=1, padding_mode="circular").eval()
    size = torch.export.Dim("length", min=4)
    torch.onnx.export(
        net, (torch.randn(2, 3, 12),), path, dynamo=True, verbose=False,
        dynamic_shapes=({2: size},),
    )  # fmt: skip
    return path


@pytest.mark.filterwarnings("ignore")
def test_onnx_files_are_checked_in_float32(exported):
    found = read_target(str(exported))
    assert found.x.shape == (2, 3, 3)
    found = read_target(str(exported), [2, 3, 16])
    assert check(found, "roll").outputs[0].kept == "equivariant"
    assert not check(found, "flip").kept
    with pytest.raises(ValueError, match="try --shape"):
        check(read_target(str(exported), [2, 4, 16]), "flip")


def test_files_that_are_no_network_are_told(tmp_path):
    pytest.importorskip("onnxruntime")
    path = tmp_path / "text.onnx"
    path.write_text("hello")
    with pytest.raises(ValueError, match="must be a network in ONNX"):
        read_target(str(path))
