"""The text of a Python function, and what its names mean."""

import ast
import inspect
import textwrap
from collections import ChainMap, Counter
from functools import cached_property


class Source:
    """A function with its syntax tree. The tree is read when it is first needed."""

    def __init__(self, function):
        self.function = function
        self.name = function.__name__.strip("<>")

    @cached_property
    def _lines(self):
        try:
            return inspect.getsourcelines(self.function)[0]
        except OSError as error:
            raise TypeError(f"the text of {self.name!r} is translated, and cannot be read: {error}") from None

    @cached_property
    def tree(self):
        """The definition of the function."""
        tree = ast.parse(textwrap.dedent("".join(self._lines))).body[0]
        if isinstance(tree, ast.FunctionDef):
            return tree
        found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
        if self.name != "lambda" or len(found) != 1:
            raise TypeError("kernels are made of functions defined by `def`, or by the only `lambda` of a line")
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
        """The names outside of the function."""
        free = zip(self.function.__code__.co_freevars, self.function.__closure__ or ())
        closure = {}
        for name, cell in free:
            try:
                closure[name] = cell.cell_contents
            except ValueError:
                continue
        return ChainMap(closure, self.function.__globals__)

    def place(self, node):
        """Where a node of the tree is: file, line, column and text of the line."""
        node = node or self.tree
        line = self._lines[node.lineno - 1]
        indent = len(self._lines[0]) - len(self._lines[0].lstrip())
        number = self.function.__code__.co_firstlineno + node.lineno - 1
        return self.function.__code__.co_filename, number, node.col_offset + indent + 1, line
