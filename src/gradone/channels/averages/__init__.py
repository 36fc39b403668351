"""Averages over labels and prior means at an overlap matrix: what state evolution asks for."""
