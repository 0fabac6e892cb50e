"""Graphs as sets of their subgraphs."""
