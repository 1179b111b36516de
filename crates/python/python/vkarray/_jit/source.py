"""The text of a Python function, and what its names mean."""

import ast
import builtins
import inspect
from collections import ChainMap, Counter, defaultdict
from functools import cached_property, lru_cache


@lru_cache(maxsize=4)
def _definitions(text):
    """The functions of a file by the line that they begin at, which is that of their first decorator."""
    found = defaultdict(list)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            found[[*getattr(node, "decorator_list", ()), node][0].lineno].append(node)
    return found


class Source:
    """A function with its syntax tree, which has the places of its file. The tree is read when it is first needed."""

    def __init__(self, function):
        self.function = function
        self.name = function.__name__.strip("<>")

    @cached_property
    def _lines(self):
        """The lines of the file."""
        try:
            return inspect.findsource(self.function)[0]
        except OSError as error:
            raise TypeError(f"the text of {self.name!r} is translated, and cannot be read: {error}") from None

    @cached_property
    def tree(self):
        """The definition of the function."""
        code = self.function.__code__
        kind = ast.Lambda if code.co_name == "<lambda>" else ast.FunctionDef
        found = [each for each in _definitions("".join(self._lines))[code.co_firstlineno] if isinstance(each, kind)]
        if len(found) != 1:
            raise TypeError("kernels are made of functions defined by `def`, or by the only `lambda` of a line")
        if kind is ast.FunctionDef:
            return found[0]
        body = [ast.copy_location(ast.Return(found[0].body), found[0])]
        return ast.copy_location(ast.FunctionDef(self.name, found[0].args, body, []), found[0])

    @cached_property
    def parameters(self):
        return [each.arg for each in self.tree.args.args]

    @cached_property
    def assigned(self):
        """The names that are assigned, with the number of their assignments."""
        names = (each for each in ast.walk(self.tree) if isinstance(each, ast.Name))
        return Counter(each.id for each in names if isinstance(each.ctx, ast.Store))

    @property
    def names(self):
        """The names outside of the function. A name that is assigned later has an empty cell, and is not there yet."""
        cells = zip(self.function.__code__.co_freevars, self.function.__closure__ or ())
        closure = {name: cell.cell_contents for name, cell in cells if cell != type(cell)()}
        return ChainMap(closure, self.function.__globals__, vars(builtins))

    def place(self, node):
        """Where a node of the tree is: file, line, column and text of the line."""
        node = node or self.tree
        return self.function.__code__.co_filename, node.lineno, node.col_offset + 1, self._lines[node.lineno - 1]
