"""The paper's experiments and ours, one folder each; nothing outside imports them."""
