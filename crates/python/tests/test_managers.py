"""Memory managers of Python, and contexts that are closed. Each program is a process of its own, as a manager is for contexts
that are opened later."""

import subprocess
import sys

import pytest

PROGRAMS = {
    "allocations and frees are counted, and memory is as it should be": ("""
        class Counting(vk.BaseMemoryManager):
            live, sizes, n_made = 0, [], 0
            def __init__(self, *, context):
                super().__init__(context=context)
                Counting.n_made += 1
            def memalloc(self, size):
                Counting.live += 1
                Counting.sizes.append(size)
                return self.context.memalloc(size, finalizer=self.freed)
            def freed(self):
                Counting.live -= 1
            def get_memory_info(self):
                return vk.MemoryInfo(free=3, total=5)
        vk.set_memory_manager(Counting)
        x = vk.arange(1000, dtype=vk.float32)
        y = (x + x)[::2]
        assert y.copy_to_host().tolist() == list(range(0, 2000, 4))
        print(4000 in Counting.sizes, Counting.live >= 2, *vk.current_context().get_memory_info(), Counting.n_made)
        del x, y
        vk.current_context().reset()
        vk.close()
        gc.collect()
        print(Counting.live)""", "True True 3 5 2\n0"),
    "what a manager raises is raised by the call, and nothing leaks": ("""
        class Quota(Exception): pass
        class Limited(vk.BaseMemoryManager):
            live = 0
            def memalloc(self, size):
                memory = self.context.memalloc(size, finalizer=self.freed)
                Limited.live += 1
                if size > 1 << 20:
                    raise Quota(size)
                return memory
            def freed(self):
                Limited.live -= 1
        vk.set_memory_manager(Limited)
        x = vk.zeros(10)
        before = Limited.live
        for _ in range(100):
            try:
                vk.zeros(1 << 20)
            except Quota as error:
                pass
            else:
                print("not raised")
        print(error_args := None, Limited.live == before, (x + 1).sum().item())""", "None True 10.0"),
    "what a manager gives is checked": ("""
        class Wrong(vk.BaseMemoryManager):
            give = None
            def memalloc(self, size):
                return Wrong.give(self, size) if Wrong.give else self.context.memalloc(size)
        vk.set_memory_manager(Wrong)
        x = vk.zeros(10)
        kept = []
        def twice(self, size):
            if not kept:
                kept.append(self.context.memalloc(size))
            return kept[0]
        for give in (lambda self, size: None, lambda self, size: self.context.memalloc(size + 1),
                     lambda self, size: self.context.memhostalloc(size), lambda self, size: 1 / 0):
            Wrong.give = give
            try:
                vk.zeros(100)
            except (TypeError, ValueError, ZeroDivisionError) as error:
                print(type(error).__name__)
        Wrong.give = twice
        y = vk.zeros(100)
        try:
            vk.zeros(100)
        except ValueError:
            print("once")
        Wrong.give = None
        print((vk.zeros(100) + y).sum().item())""", "TypeError\nValueError\nValueError\nZeroDivisionError\nonce\n0.0"),
    "versions and constructors are checked": ("""
        class Old(vk.BaseMemoryManager):
            interface_version = 2
        class Broken(vk.BaseMemoryManager):
            def __init__(self, *, context):
                raise KeyError("broken")
        for wrong in (Old, Broken):
            try:
                vk.set_memory_manager(wrong)
            except (vk.Error, KeyError) as error:
                print(type(error).__name__)
        print(vk.ones(3).sum().item())""", "VkError\nKeyError\n3.0"),
    "managers of Python conform to the contract of managers": ("""
        class Counting(vk.BaseMemoryManager):
            n_live = 0
            def memalloc(self, size):
                memory = self.context.memalloc(size, finalizer=self.freed)
                Counting.n_live += 1
                return memory
            def freed(self):
                Counting.n_live -= 1
        checks = vk.check_memory_manager(Counting)
        passed = [check for check in checks if check[1] == "passed"]
        print(len(passed) > 15, [check for check in checks if check[1] == "FAILED"], Counting.n_live)
        class Forgetful(vk.BaseMemoryManager):
            def get_memory_info(self):
                return vk.MemoryInfo(free=2, total=1)
        print([check[0] for check in vk.check_memory_manager(Forgetful) if check[1] == "FAILED"])""",
        "True [] 0\n['memory-info']"),
    "memory that runs out is reported through a manager": ("""
        class Passing(vk.BaseMemoryManager): pass
        vk.set_memory_manager(Passing)
        try:
            vk.empty(1 << 50)
        except MemoryError as error:
            print("buffer of this device" in str(error), "refused" in str(error))""", "True False"),
    "host memory and deferred cleanup pass through a manager": ("""
        class Noting(vk.BaseMemoryManager):
            noted = []
            def initialize(self):
                Noting.noted.append("initialize")
            def memhostalloc(self, size, mapped, portable, wc):
                Noting.noted.append((size, mapped, wc))
                return super().memhostalloc(size, mapped, portable, wc)
            def defer_cleanup(self):
                Noting.noted.append("defer")
                return super().defer_cleanup()
            def reset(self):
                Noting.noted.append("reset")
                super().reset()
        vk.set_memory_manager(Noting)
        x = vk.mapped_array(10, np.float32, wc=True)
        with vk.defer_cleanup():
            del x
        vk.current_context().reset()
        print("initialize" in Noting.noted, (40, True, True) in Noting.noted, Noting.noted[-2:])""",
        "True True ['defer', 'reset']"),
    "arrays of two contexts are refused": ("""
        x = vk.ones(3)
        vk.close()
        y = vk.ones(3)
        for call in (lambda: x + y, lambda: y.__iadd__(x), lambda: vk.concat([x, y]), lambda: x.copy_to_device(y)):
            try:
                call()
                print("not refused")
            except (vk.Error, ValueError) as error:
                print(str(error).count(x.device))
        print((x + 1).sum().item(), (y + x._to_context()).sum().item())""", "2\n2\n2\n2\n6.0 6.0"),
    "the interpreter ends with a manager, views and callbacks": ("""
        class Manager(vk.BaseMemoryManager):
            def memalloc(self, size):
                return self.context.memalloc(size, finalizer=lambda: None)
        vk.set_memory_manager(Manager)
        view = np.asarray(vk.pinned_array(1000))
        x, stream = vk.zeros(1 << 20), vk.stream()
        for _ in range(20):
            x = x.on(stream) + 1
        stream.add_callback(lambda *_: time.sleep(0.1))
        holder = [x, view, vk.current_context(), vk.defer_cleanup(), vk.event()]
        holder.append(holder)
        print("end")""", "end"),
    "a forked process is refused views": ("""
        x = vk.pinned_array(10, np.float32)
        view = np.asarray(x)
        child = os.fork()
        if child == 0:
            del view
            try:
                memoryview(x)
            except vk.Error as error:
                print(type(error).__name__, flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        view[:] = 2
        del view
        print(x.sum().item())""", "VkError\n20.0"),
    "100,000 arrays of host memory and their views, of four threads, leave nothing": ("""
        def pages():
            gc.collect()
            vk.synchronize()
            return int(open("/proc/self/statm").read().split()[1])
        def make(n):
            for _ in range(n):
                np.asarray(vk.pinned_array(100, np.float32))[0] = 1
        def round_of_threads():
            threads = [threading.Thread(target=make, args=(12500,)) for _ in range(4)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            return pages()
        first, last = round_of_threads(), round_of_threads()
        print(last - first < 1024)""", "True"),
    "views and managers in cycles are collected": ("""
        class Holder: pass
        for i in range(300):
            holder = Holder()
            holder.array = vk.pinned_array(1 << 20, np.float32)
            holder.view, holder.own = np.asarray(holder.array), holder
            if i % 20 == 0:
                gc.collect()
        print("1.2 GB were made")""", "1.2 GB were made"),
}


@pytest.mark.parametrize("program, expected", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_a_program_does_as_expected(program, expected):
    lines = [line[8:] for line in program.split("\n")]
    text = "import gc, os, threading, time\nimport numpy as np\nimport vkarray as vk\n" + "\n".join(lines)
    ended = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=180)
    assert (ended.stdout.strip(), ended.returncode) == (expected, 0), ended.stderr
