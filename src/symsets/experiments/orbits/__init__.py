"""What early aggregation sees and late aggregation cannot."""
