"""Generated humans, objects, pictures and moving things: data that need no download."""
