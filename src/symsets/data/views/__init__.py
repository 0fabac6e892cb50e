"""Objects seen from several sides, with what every pixel shows of them."""

from symsets.data.views.batch import Views, ViewSource
from symsets.data.views.cameras import Cameras, random_cameras
from symsets.data.views.meshes import MeshFolder, load_mesh, render_meshes
from symsets.data.views.objects import CATEGORIES, make_objects
from symsets.data.views.published import NoxFolder, has_nox
from symsets.data.views.rendering import GeneratedViews, make_views
from symsets.data.views.surface import sample_surface

__all__ = [
    "Views",
    "ViewSource",
    "Cameras",
    "random_cameras",
    # where they come from
    "CATEGORIES",
    "GeneratedViews",
    "make_views",
    "make_objects",
    "sample_surface",
    "MeshFolder",
    "load_mesh",
    "render_meshes",
    "NoxFolder",
    "has_nox",
]
