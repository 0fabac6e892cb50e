"""One fine picture of a place from many coarse ones that a satellite took."""
