"""Design matrices: binary sparse, float sparse and dense, behind one interface."""

from relprev.matrix.base import Columns, Matrix
from relprev.matrix.coerce import as_matrix
from relprev.matrix.csr import BinaryCSR, FloatCSR
from relprev.matrix.dense import Dense

__all__ = ["BinaryCSR", "Columns", "Dense", "FloatCSR", "Matrix", "as_matrix"]
