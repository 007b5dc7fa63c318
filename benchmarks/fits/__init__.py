"""Fits and measured models."""
