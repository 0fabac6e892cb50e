"""What the commands for a user's own sets do: train networks on a folder, and predict."""

from symsets.tools.examples import write_digits
from symsets.tools.predicting import predict_folder
from symsets.tools.training import train_folder

__all__ = ["predict_folder", "train_folder", "write_digits"]
