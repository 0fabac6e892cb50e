"""The shape of an object from three views of it."""
