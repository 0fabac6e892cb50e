"""Sets from tensors, folders and files, for training and evaluation.

Places365, ImageNet, CelebA and UCF101 are read by :mod:`symsets.data.published`.
"""

from symsets.data.augment import Augment
from symsets.data.clips import Clips, VideoSource
from symsets.data.folders import MissingDataError
from symsets.data.images import ImageFolder, ImageSource
from symsets.data.labelled import LabelledSets, SetDataset
from symsets.data.on_the_fly import OnTheFlySets
from symsets.data.packing import pack_folder
from symsets.data.packs import ImagePack, VideoPack
from symsets.data.set_folder import SetFolder, looks_like_sets
from symsets.data.videos import VideoFolder

__all__ = [
    # sets with their targets
    "LabelledSets",
    "SetDataset",
    "OnTheFlySets",
    "Augment",
    # sets on disk
    "SetFolder",
    "looks_like_sets",
    # images
    "ImageSource",
    "ImageFolder",
    "ImagePack",
    # videos
    "VideoSource",
    "VideoFolder",
    "VideoPack",
    "Clips",
    # both in one file
    "pack_folder",
    "MissingDataError",
]
