"""Design matrices: binary sparse, float sparse and dense, behind one interface."""

from relprev.design.base import Columns, Design
from relprev.design.convert import as_design
from relprev.design.csr import BinaryCSR, FloatCSR
from relprev.design.dense import Dense

__all__ = ["BinaryCSR", "Columns", "Dense", "Design", "FloatCSR", "as_design"]
