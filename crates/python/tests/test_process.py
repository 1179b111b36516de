"""Ends of processes, forks, threads and garbage: no crash, no hang, no growth. Each program is a process of its own."""

import subprocess
import sys

import pytest

PROGRAMS = {
    "the interpreter ends with work pending": ("""
        x = vk.ones(1 << 20)
        for _ in range(20):
            x = x * 1.0001 + 1
        print("end")""", "end"),
    "the interpreter ends while a thread computes": ("""
        def compute():
            while True:
                vk.ones(1000) + 1
        threading.Thread(target=compute, daemon=True).start()
        time.sleep(0.3)
        print("end")""", "end"),
    "a forked process is refused, and its parent goes on": ("""
        x = vk.ones(10)
        child = os.fork()
        if child == 0:
            try:
                x + 1
            except vk.Error as error:
                print(type(error).__name__, flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        print((x + 1).sum().item())""", "VkError\n20.0"),
    "arrays in cycles are collected": ("""
        class Holder: pass
        for i in range(1000):
            holder = Holder()
            holder.array, holder.own = vk.empty(1 << 22), holder
            if i % 20 == 0:
                gc.collect()
        print("16 GB were made")""", "16 GB were made"),
    "100,000 arrays of four threads leave nothing": ("""
        def pages():
            gc.collect()
            vk.synchronize()
            return int(open("/proc/self/statm").read().split()[1])
        def make(n):
            for _ in range(n):
                vk.empty(100)
        def round_of_threads():
            threads = [threading.Thread(target=make, args=(12500,)) for _ in range(4)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            return pages()
        first, last = round_of_threads(), round_of_threads()
        print(last - first < 1024)""", "True"),
}


@pytest.mark.parametrize("program, expected", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_a_process_ends_well(program, expected):
    lines = [line[8:] for line in program.split("\n")]
    text = "import gc, os, threading, time\nimport vkarray as vk\n" + "\n".join(lines)
    ended = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert (ended.stdout.strip(), ended.returncode) == (expected, 0), ended.stderr
