"""Clouds of points: how far apart two of them are, and how views make one."""

from symsets.geometry.clouds import union_of_views
from symsets.geometry.distances import Agreement, agreement, chamfer, f_score, nearest
from symsets.geometry.evaluation import THRESHOLDS, errors_by_views, predict, reconstruction_errors

__all__ = [
    "chamfer",
    "f_score",
    "nearest",
    "agreement",
    "Agreement",
    "union_of_views",
    "predict",
    "reconstruction_errors",
    "errors_by_views",
    "THRESHOLDS",
]
