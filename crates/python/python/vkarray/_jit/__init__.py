"""Kernels that are Python functions, translated to WGSL for the types of their arguments.

| file | what it has |
|---|---|
| `names.py` | what kernels call: `grid`, `shared`, `atomic` and others; errors |
| `source.py` | the syntax tree of a function, and what its names mean |
| `types.py` | types, their common type, numbers and conversions in WGSL |
| `values.py` | what an expression is while it is translated, and what passes find out |
| `expressions.py`, `arithmetic.py`, `library.py` | expressions: their kinds, operators, and functions that are called |
| `statements.py` | statements and functions |
| `program.py` | the whole text |
| `dispatch.py` | `vk.jit` and launches |
"""

from .dispatch import Jit, jit
from .names import *

__all__ = ["Jit", "jit", *names.__all__]
