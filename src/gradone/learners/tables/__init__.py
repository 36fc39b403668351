"""Estimators for data of one's own."""
