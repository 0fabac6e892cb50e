"""Fitting networks, and what runs leave behind."""
