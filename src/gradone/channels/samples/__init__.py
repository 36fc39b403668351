"""Posteriors of single samples: what message passing asks for."""
