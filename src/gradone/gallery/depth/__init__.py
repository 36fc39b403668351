"""Figures on what depth learns."""
