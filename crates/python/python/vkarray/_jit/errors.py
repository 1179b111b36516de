"""What is raised for Python that has no translation."""


class JitSyntaxError(SyntaxError):
    """A statement or an expression that kernels do not have. It carries file, line and column."""


class JitTypeError(TypeError):
    """A value of a type that does not fit. The text begins with file, line and column."""
