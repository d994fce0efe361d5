"""What the compiled module offers to the rest of the package."""

from collections.abc import Callable, Sequence
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
def extents(option: str, text: str) -> list[int]: ...
def choose_boxes(n: int, grid: str, boxes: str, ranks: int) -> tuple[list[int], list[int]]: ...
def rows_in_boxes(
    indptr: np.ndarray, indices: np.ndarray, grid: Sequence[int], along: Sequence[int]
) -> tuple[np.ndarray, list[int]]: ...
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
def comm_measurements(by_any_way: bool = False) -> list[str]: ...
def measure_comm(
    name: str, devices: str, ranks: list[int], epochs: int, nccl: str, transport: str = "auto"
) -> list[dict[str, Any]]: ...
def dslash(
    problem: dict[str, Any], options: dict[str, Any] = ..., machine: dict[str, Any] | None = None
) -> dict[str, Any]: ...
def plaquettes(problem: dict[str, Any]) -> np.ndarray: ...
def estimate_memory(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    n: int,
    options: dict[str, Any],
    given: dict[str, Any] = ...,
    machine: dict[str, Any] | None = None,
) -> list[int]: ...
def automatic_storage(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    n: int,
    rows: int,
    unit: bool,
    given: dict[str, Any] = ...,
) -> tuple[str, str]: ...

class DelayedSolver:
    def __init__(
        self,
        indptr: np.ndarray,
        indices: np.ndarray,
        data: np.ndarray,
        n: int,
        options: dict[str, Any],
    ) -> None: ...
    def solve(self, b: np.ndarray, iterations: int, late: float) -> tuple[int, float]: ...

def fault_trial(
    kind: str,
    culprit: int,
    when: float,
    method: str,
    ranks: int,
    timeout: float,
    progress_thread: bool,
    engine: str = "host",
    devices: str = "",
    last_word: str = "",
) -> dict[str, Any]: ...
def run(job: Callable[[Communicator], None], options: dict[str, Any]) -> None: ...
def predict_hop(
    extent: list[int], ranks: int, precision: str, recon: int, machine: dict[str, Any]
) -> float: ...

class Pending:
    def test(self) -> bool: ...
    def wait(self) -> Any: ...

class Communicator:
    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    def send(self, data: bytes, to: int, tag: int) -> None: ...
    def receive(self, from_: int, tag: int) -> Pending: ...
    def barrier(self) -> Pending: ...
    def broadcast(self, data: bytes, root: int) -> Pending: ...
    def gather(self, data: bytes, root: int) -> Pending: ...
    def all_gather(self, data: bytes) -> Pending: ...
    def scatter(self, data: list[bytes], root: int) -> Pending: ...
    def all_to_all(self, data: list[bytes]) -> Pending: ...
    def reduce(self, array: np.ndarray, operation: str, root: int) -> Pending: ...
    def all_reduce(
        self, array: np.ndarray, operation: str, algorithm: str, reduce_degree: int, broadcast_degree: int
    ) -> Pending: ...

class RowsSolver:
    def __init__(
        self,
        comm: dict[str, Any] | None,
        arrays: tuple[np.ndarray, np.ndarray, np.ndarray] | None,
        first_row: int,
        options: dict[str, Any],
        refused: tuple[str, str] | None = None,
        columns: int = -1,
        machine: dict[str, Any] | None = None,
    ) -> None: ...
    def solve(
        self,
        b: np.ndarray | None,
        x0: np.ndarray | None = None,
        options: dict[str, Any] = ...,
        refused: tuple[str, str] | None = None,
    ) -> dict[str, Any]: ...
    def update_values(
        self, data: np.ndarray | None, entries: int, refused: tuple[str, str] | None = None
    ) -> None: ...
    def close(self) -> None: ...
    @property
    def n(self) -> int: ...
    @property
    def first_row(self) -> int: ...
    @property
    def ranks(self) -> int: ...

class HMatrix:
    def __init__(
        self,
        points: np.ndarray,
        triangles: np.ndarray,
        kernel: str,
        options: dict[str, Any],
        progress: Callable[[float], object] | None = None,
    ) -> None: ...
    @staticmethod
    def stored(
        points: np.ndarray,
        triangles: np.ndarray,
        kernel: str,
        options: dict[str, Any],
        ranks: np.ndarray,
        statistics: dict[str, Any],
        read: Callable[[np.ndarray], object],
    ) -> HMatrix: ...
    def values(self, write: Callable[[np.ndarray], object]) -> None: ...
    def size(self) -> int: ...
    def words(self) -> int: ...
    def statistics(self) -> dict[str, Any]: ...
    def blocks(self) -> np.ndarray: ...
    def order(self) -> np.ndarray: ...
    def diagonal(self) -> np.ndarray: ...
    def multiply(self, x: np.ndarray, transposed: bool = False) -> np.ndarray: ...

class HMatrixOutline:
    def __init__(
        self, points: np.ndarray, triangles: np.ndarray, options: dict[str, Any], every: int
    ) -> None: ...
    def statistics(self) -> dict[str, Any]: ...
    def gemvs(self, order: str) -> list[np.ndarray]: ...
    def iterations(
        self,
        method: str,
        fallen_back: bool,
        ranks: int,
        machine: dict[str, Any] | None,
        distribution: str,
        count: int,
    ) -> list[dict[str, Any]]: ...

def measure_paper_ways(matrix: HMatrix, repeats: int, cublas: str) -> list[dict[str, Any]]: ...

class Solver:
    def __init__(
        self,
        indptr: np.ndarray,
        indices: np.ndarray,
        data: np.ndarray,
        n: int,
        options: dict[str, object],
        machine: dict[str, Any] | None = None,
        given: dict[str, Any] = ...,
    ) -> None: ...
    def solve(
        self,
        b: Any,  # an array, or a capsule of DLPack
        x0: Any = None,
        progress: Callable[[int, float], bool] | None = None,
        options: dict[str, Any] = ...,
        look: Callable[[int, float, np.ndarray | None], bool] | None = None,
        x: Any = None,
    ) -> dict[str, Any]: ...
    def update_values(self, data: np.ndarray) -> None: ...
    def time_product(self, pairs: int) -> float: ...
    def steps(self) -> int: ...
    def memory(self) -> dict[str, Any]: ...
