"""Design matrices: binary sparse, float sparse and dense, behind one interface."""

from typing import TYPE_CHECKING

from relprev.lazy import on_demand

if TYPE_CHECKING:
    from relprev.matrix.base import Columns, Matrix
    from relprev.matrix.coerce import as_matrix
    from relprev.matrix.csr import BinaryCSR, FloatCSR
    from relprev.matrix.dense import Dense
else:
    __getattr__, __dir__ = on_demand(__name__)

__all__ = ["BinaryCSR", "Columns", "Dense", "FloatCSR", "Matrix", "as_matrix"]
