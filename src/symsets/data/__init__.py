"""Sets from tensors and files: what every training and every test asks for."""

from symsets.data.augment import Augment, Moves
from symsets.data.clips import Clips, VideoSource
from symsets.data.decoding import Skipped
from symsets.data.folders import MissingDataError
from symsets.data.images import ImageFolder, ImageSource
from symsets.data.labelled import LabelledSets, SetDataset
from symsets.data.on_the_fly import OnTheFlySets
from symsets.data.packing import Packed, pack_folder
from symsets.data.packs import ImagePack, VideoPack
from symsets.data.published_images import celeba, imagenet, places365
from symsets.data.splits import SPLITS
from symsets.data.videos import VideoFolder, ucf101

__all__ = [
    # sets with their targets
    "LabelledSets",
    "SetDataset",
    "OnTheFlySets",
    "Augment",
    "Moves",
    "SPLITS",
    # images
    "ImageSource",
    "ImageFolder",
    "ImagePack",
    "places365",
    "imagenet",
    "celeba",
    "Skipped",
    # videos
    "VideoSource",
    "VideoFolder",
    "VideoPack",
    "Clips",
    "ucf101",
    # both in one file
    "Packed",
    "pack_folder",
    "MissingDataError",
]
