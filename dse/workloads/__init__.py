"""Workloads by name: what a unit of a known kernel computes and moves, with the source of each number."""

from dse.workloads.catalogue import Workload, WorkloadError, every, get, names

__all__ = ["Workload", "WorkloadError", "every", "get", "names"]
