"""The experiments: data, models, recipe and published numbers of each."""
