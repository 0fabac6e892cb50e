"""Small tables: classes of rows are learnt from a few labelled rows, without training."""
