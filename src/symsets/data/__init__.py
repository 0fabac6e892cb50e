"""Where elements come from, and how sets are made of them."""

from symsets.data.augment import Augment, Moves
from symsets.data.bursts import BurstSets
from symsets.data.catalogue import (
    Entry,
    available,
    image_source,
    motion_source,
    video_source,
    view_source,
)
from symsets.data.central_frame import CentralFrameSets, mean_shape, skip_study
from symsets.data.clips import Clips, VideoSource
from symsets.data.colors import ColorSets
from symsets.data.dead_leaves import DeadLeaves
from symsets.data.decoding import Skipped
from symsets.data.dfaust import DynamicFaust
from symsets.data.folders import MissingDataError
from symsets.data.frames import FrameSets
from symsets.data.humans import MovingHumans
from symsets.data.images import ImageFolder, ImageSource
from symsets.data.labelled import LabelledSets, Supply
from symsets.data.made import MadeSets
from symsets.data.motion_packs import MotionPack
from symsets.data.motions import HeldOut, Motions, MotionSource
from symsets.data.moving_things import MovingThings
from symsets.data.packing import Packed, pack_folder
from symsets.data.packs import ImagePack, VideoPack
from symsets.data.photos import EmbeddedImages, PhotoCrops
from symsets.data.published_images import celeba, imagenet, places365
from symsets.data.quality import QualitySets
from symsets.data.signals import CLASSES, Signals
from symsets.data.splits import SPLITS
from symsets.data.videos import VideoFolder, ucf101
from symsets.data.views import (
    GeneratedViews,
    MeshFolder,
    NoxFolder,
    Views,
    ViewSource,
    make_views,
)

__all__ = [
    # sets
    "LabelledSets",
    "Supply",
    "MadeSets",
    "ColorSets",
    "BurstSets",
    "QualitySets",
    "FrameSets",
    "Augment",
    "Moves",
    "SPLITS",
    # signals
    "CLASSES",
    "Signals",
    # where images come from
    "ImageSource",
    "ImageFolder",
    "ImagePack",
    "DeadLeaves",
    "PhotoCrops",
    "EmbeddedImages",
    "places365",
    "imagenet",
    "celeba",
    "Skipped",
    # where videos come from
    "VideoSource",
    "VideoFolder",
    "VideoPack",
    "MovingThings",
    "Clips",
    "ucf101",
    # both in one file
    "Packed",
    "pack_folder",
    # where motions come from
    "MotionSource",
    "MotionPack",
    "MovingHumans",
    "DynamicFaust",
    "HeldOut",
    "Motions",
    "CentralFrameSets",
    "mean_shape",
    "skip_study",
    # where views of objects come from
    "Views",
    "ViewSource",
    "GeneratedViews",
    "make_views",
    "MeshFolder",
    "NoxFolder",
    # by name
    "Entry",
    "available",
    "image_source",
    "video_source",
    "motion_source",
    "view_source",
    "MissingDataError",
]
