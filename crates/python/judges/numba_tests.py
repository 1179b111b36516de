"""Runs numba-cuda's own tests, unchanged, on vkarray and on numba's simulator, and compares.

A test counts where it passes on both sides and did something on the device. With names of modules of tests, such as
`cudapy.test_sync`, these alone run, and why tests fail is printed.
"""

import collections
import importlib
import importlib.abc
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TIERS = {
    "arrays, streams and memory": """
        nocuda.test_dummyarray cudadrv.test_cuda_ndarray cudadrv.test_cuda_array_slicing cudadrv.test_cuda_memory
        cudadrv.test_deallocations cudadrv.test_array_attr cudadrv.test_context_stack cudadrv.test_emm_plugins
        cudadrv.test_init cudadrv.test_managed_alloc cudadrv.test_host_alloc cudadrv.test_events cudadrv.test_detect
        cudadrv.test_pinned cudadrv.test_streams cudadrv.test_reset_device cudadrv.test_select_device
        cudadrv.test_cuda_auto_context cudapy.test_stream_api cudapy.test_ipc cudapy.test_multithreads
        cudapy.test_multiprocessing""",
    "kernels": """
        cudapy.test_atomics cudapy.test_array cudapy.test_sync cudapy.test_sm cudapy.test_sm_creation
        cudapy.test_constmem cudapy.test_localmem cudapy.test_reduction cudapy.test_cuda_array_interface
        cudapy.test_operator cudapy.test_casting cudapy.test_array_reductions
        cudapy.test_retrieve_autoconverted_arrays cudapy.test_device_array_capture cudapy.test_forall
        cudapy.test_transpose cudapy.test_slicing cudapy.test_minmax cudapy.test_powi cudapy.test_matmul
        cudapy.test_laplace cudapy.test_mandel cudapy.test_blackscholes cudapy.test_multigpu
        cudapy.test_array_methods cudapy.test_boolean cudapy.test_globals cudapy.test_freevar cudapy.test_idiv
        cudapy.test_lang cudapy.test_montecarlo cudapy.test_nondet cudapy.test_py2_div_issue
        cudapy.test_cuda_jit_no_types cudapy.test_iterators cudapy.test_errors cudapy.test_exception
        cudapy.test_fastmath""",
}


class Place(importlib.abc.MetaPathFinder):
    """Finds `numba_device.py` in the place of `numba.cuda.simulator`, whose modules it may import."""

    def find_spec(self, name, path, target=None):
        if name != "numba.cuda.simulator":
            return None
        own = pathlib.Path(__file__).with_name("numba_device.py")
        return importlib.util.spec_from_file_location(name, own, submodule_search_locations=[f"{path[0]}/simulator"])


class Result(unittest.TestResult):
    """What each test says: `passed`, `skipped` or why it failed; with a star where nothing reached the device."""

    def __init__(self, used):
        super().__init__()
        self.said, self.used = {}, used

    def startTest(self, test):
        super().startTest(test)
        self.before = next(self.used)
        self.said[test.id()] = "passed"

    def stopTest(self, test):
        super().stopTest(test)
        if self.said[test.id()] == "passed" and next(self.used) == self.before + 1:
            self.said[test.id()] = "passed*"

    def addSkip(self, test, reason):
        self.said[test.id()] = "skipped"

    def addError(self, test, error):
        self.said[test.id()] = f"{error[0].__name__}: {error[1]}"

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.addError(test, error)

    addFailure = addError


def side(on_device, path, modules):
    """Runs modules of tests in this process, and writes what they say."""
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    used = None
    if on_device:
        sys.meta_path.insert(0, Place())
        importlib.import_module("numba.cuda")
        used = sys.modules["numba.cuda.simulator"].used
    result = Result(used or iter(range(0, sys.maxsize, 2)))
    for module in modules:
        unittest.defaultTestLoader.loadTestsFromName(f"numba.cuda.tests.{module}").run(result)
    if failed := {test: said for test, said in result.said.items() if "_FailedTest" in test}:
        sys.exit("\n".join(f"{test.rpartition('.')[2]} cannot be imported: {said}" for test, said in failed.items()))
    pathlib.Path(path).write_text(json.dumps(result.said))


def both(modules):
    """What the modules say on the device and on the simulator. Each side is a process of its own."""
    said = []
    for name in ("device", "simulator"):
        with tempfile.NamedTemporaryFile() as file:
            if code := subprocess.run([sys.executable, __file__, name, file.name, *modules]).returncode:
                sys.exit(f"the tests on the {name} did not run: status {code}")
            said.append(json.loads(pathlib.Path(file.name).read_text()))
    return said


def main(modules):
    tiers = {"these": modules} if modules else {name: text.split() for name, text in TIERS.items()}
    causes = collections.Counter()
    for name, modules in tiers.items():
        device, simulator = both(modules)
        wanted = [test for test, said in simulator.items() if said.startswith("passed")]
        counts = collections.Counter(device.get(test, "not run").partition(":")[0] for test in wanted)
        print(f"{name}: {len(wanted)} pass on the simulator; of these on the device: "
              f"{counts['passed']} pass, {counts['passed*']} pass without the device, the others fail")
        for test in wanted:
            said = device.get(test, "not run")
            if not said.startswith("passed"):
                causes[said.partition("\n")[0][-100:]] += 1
                print(f"    {test.removeprefix('numba.cuda.tests.')}\n        {said[:300]}")
    for cause, count in causes.most_common(20):
        print(f"{count:4} {cause}")


if __name__ == "__main__":
    if sys.argv[1:2] in (["device"], ["simulator"]):
        side(sys.argv[1] == "device", sys.argv[2], sys.argv[3:])
    else:
        main(sys.argv[1:])
