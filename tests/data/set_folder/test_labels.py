import pytest
import torch

from symsets.data import SetFolder


def test_a_set_may_be_called_by_the_end_of_its_path_if_no_other_ends_so(folder):
    folder.sets("x/a", "y/b", "y/c")
    folder.labels("set,age a,1.5 y/b,2.5 c/,3.5")
    assert SetFolder(folder.root).targets.flatten().tolist() == [1.5, 2.5, 3.5]
    folder.sets("y/a")
    folder.labels("set,age a,1.5 y/b,2.5 c,3.5 y/a,4.5")
    with pytest.raises(ValueError, match=r"line 2: set must be one of .*, got 'a'"):
        SetFolder(folder.root)


def test_a_file_may_be_called_by_its_path(folder):
    folder.sets("a", "b")
    folder.labels("set,file a,a/1.png b,2.png")
    assert SetFolder(folder.root).targets.tolist() == [1, 2]


def test_numbers_that_would_run_together_keep_their_digits(folder):
    folder.sets("a", "b", "c")
    folder.labels("set,when a,1700000000.5 b,1700000001.25 c,1700000003.0")
    targets = SetFolder(folder.root).targets
    assert targets.flatten().tolist() == [1700000000.5, 1700000001.25, 1700000003.0]
    folder.labels("set,age a,0.1 b,20.25 c,33.0")
    assert SetFolder(folder.root).targets.dtype == torch.float32
