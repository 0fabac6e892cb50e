"""Sets on disk: folders of pictures, arrays and clouds, and tables, with their labels."""

from symsets.data.set_folder.dataset import SetFolder
from symsets.data.set_folder.layouts import looks_like_sets

__all__ = ["SetFolder", "looks_like_sets"]
