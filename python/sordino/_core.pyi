"""What the compiled module offers to the rest of the package."""

from collections.abc import Callable
from typing import Any

import numpy as np

class Error(Exception):
    code: str

def options() -> list[dict[str, Any]]: ...
def solvers() -> list[dict[str, str]]: ...
def preconditioners() -> list[dict[str, str]]: ...
def build_info() -> dict[str, Any]: ...
def devices() -> dict[str, Any]: ...
def mpi() -> dict[str, Any]: ...
def poisson(
    nx: int, ny: int, nz: int, stencil: int, contrast: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
def time_all_reduce(
    algorithm: str,
    values: int,
    repeats: int,
    options: dict[str, Any],
    machine: dict[str, Any] | None = None,
    reduce_degree: int = 2,
    broadcast_degree: int = 4,
    by_adapter: bool = False,
    product: dict[str, Any] = ...,
) -> dict[str, Any]: ...
def time_traffic(
    traffic: str,
    bytes: int,
    repeats: int,
    options: dict[str, Any],
    machine: dict[str, Any] | None = None,
) -> dict[str, Any]: ...
def dslash(
    problem: dict[str, Any], options: dict[str, Any] = ..., machine: dict[str, Any] | None = None
) -> dict[str, Any]: ...

class Solver:
    def __init__(
        self,
        indptr: np.ndarray,
        indices: np.ndarray,
        data: np.ndarray,
        n: int,
        options: dict[str, object],
        machine: dict[str, Any] | None,
    ) -> None: ...
    def solve(
        self,
        b: np.ndarray,
        x0: np.ndarray | None = None,
        progress: Callable[[int, float], bool] | None = None,
        options: dict[str, Any] = ...,
    ) -> dict[str, Any]: ...
    def update_values(self, data: np.ndarray) -> None: ...
    def time_product(self, pairs: int) -> float: ...
    def memory(self) -> dict[str, Any]: ...
