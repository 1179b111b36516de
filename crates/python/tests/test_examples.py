"""The examples in the documentation of the package, which are run as they stand there, and those of the guide and the README."""

import doctest
import importlib
import pathlib
import pkgutil
import subprocess
import sys

import pytest

import vkarray as vk

NAMES = [found.name for found in pkgutil.walk_packages(vk.__path__, "vkarray.") if not found.name.endswith("_core")]


@pytest.mark.parametrize("name", ["vkarray", *NAMES])
def test_examples_of_the_documentation_run(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


ROOT = pathlib.Path(__file__).parents[3]


def blocks(path):
    text = (ROOT / path).read_text()
    return [part.split("```")[0] for part in text.split("```python\n")[1:]]


PROGRAMS = {"README": "\n".join(blocks("crates/python/README.md"))}
PROGRAMS |= {f"guide {at}": text for at, text in enumerate(blocks("docs/python.md"))}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_programs_of_the_guide_and_the_readme_run(text, tmp_path):
    program = tmp_path / "program.py"  # A file, because kernels in Python need their text.
    program.write_text(text)
    ended = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=180)
    assert ended.returncode == 0, ended.stderr
