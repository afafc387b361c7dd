"""Tests the parts of tools/setup.py that decide what is built, kept and reported. No network, no compiler run."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import setup  # noqa: E402


def quietly(function, *args):
    """(result, what it printed)"""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        return function(*args), out.getvalue()


class SetupTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.step = setup.Step(3, 5, "library")
        for name, value in [("cache_folder", lambda: self.folder), ("native_macros", lambda: "AVX2 g++ 12"),
                            ("log_file", lambda name: self.folder / f"{name}.log")]:
            patch = mock.patch.object(setup, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def pip(self, code, files=("llama.whl",)):
        """Stands for `pip wheel`: leaves `files` in the folder after -w and returns `code`."""
        def run(command, *_args, **_options):
            for file in files:
                (Path(command[command.index("-w") + 1]) / file).write_text("wheel")
            self.builds += 1
            return code
        self.builds = 0
        return mock.patch.object(setup, "run_download", run)

    def test_key_follows_version_options_and_cpu(self):
        key = setup.llama_key("-DA=ON")
        self.assertEqual(key, setup.llama_key("-DA=ON"))
        self.assertNotEqual(key, setup.llama_key("-DA=OFF"))
        with mock.patch.object(setup, "native_macros", lambda: "AVX512 g++ 12"):
            self.assertNotEqual(key, setup.llama_key("-DA=ON"))
        with mock.patch.object(setup, "LLAMA_PACKAGE", "llama-cpp-python==0.0.1"):
            self.assertNotEqual(key, setup.llama_key("-DA=ON"))

    def test_wheel_is_built_once(self):
        with self.pip(0):
            wheel, _ = quietly(setup.cached_wheel, self.step, "-DA=ON", 8)
            again, _ = quietly(setup.cached_wheel, self.step, "-DA=ON", 8)
        self.assertEqual(wheel, self.folder / "wheels" / setup.llama_key("-DA=ON") / "llama.whl")
        self.assertEqual((again, self.builds), (wheel, 1))
        self.assertEqual(list((self.folder / "wheels").glob("*.building-*")), [])

    def test_failed_build_leaves_no_wheel(self):
        for code, files in [(1, ["llama.whl"]), (0, [])]:
            with self.pip(code, files), self.assertRaises(setup.SetupError) as failure:
                quietly(setup.cached_wheel, self.step, "-DA=ON", 8)
            self.assertIn("did not build", str(failure.exception))
            self.assertEqual(failure.exception.log, self.folder / "llama.cpp.log")
            self.assertEqual([p.suffix for p in (self.folder / "wheels").iterdir()], [".lock"])

    def test_progress_is_read_from_the_output(self):
        script = "print('a'); print('  [1/3] cc x.c'); print('  [2/3] cc y.c'); print('b')"
        log = self.folder / "step.log"
        with mock.patch.object(self.step, "count") as count:
            code = setup.run_logged([sys.executable, "-c", script], log, self.step, unit="files")
        self.assertEqual(code, 0)
        self.assertEqual([call.args[0] for call in count.call_args_list], ["[1/3] files", "[2/3] files"])
        self.assertIn("[2/3] cc y.c\nb\n", log.read_text())
        self.assertEqual(setup.run_logged(["/no/such/program"], log, self.step), 127)

    def test_broken_download_is_tried_again_but_no_broken_compilation(self):
        for line, tries in [("Connection reset", 3), ("[2/144] cc x.c: error", 1)]:
            log = self.folder / f"{tries}.log"
            command = [sys.executable, "-c", f"print({line!r}); raise SystemExit(1)"]
            with mock.patch.object(setup.time, "sleep"):
                code, _ = quietly(setup.run_download, command, log, self.step, None)
            self.assertEqual(code, 1)
            self.assertEqual(log.read_text().splitlines().count(line), tries)

    def test_missing_packages_without_root_print_the_command(self):
        with mock.patch.object(setup, "missing_packages", lambda names: ["g++", "cmake"]), \
                mock.patch.object(setup.shutil, "which", lambda name: f"/usr/bin/{name}"), \
                mock.patch.object(setup.os, "geteuid", lambda: 1000), self.assertRaises(setup.SetupError) as failure:
            quietly(setup.debian_packages, self.step)
        self.assertEqual(failure.exception.remedy, "sudo apt-get install -y g++ cmake")

    def test_other_systems_get_the_list(self):
        with mock.patch.object(setup.shutil, "which", lambda name: None):
            _, printed = quietly(setup.debian_packages, self.step)
        self.assertIn("nlohmann-json3-dev", printed)

    def test_package_list_has_no_comments(self):
        names = setup.listed(setup.TOOLS / "debian-packages.txt")
        self.assertIn("g++", names)
        self.assertFalse([name for name in names if "#" in name or " " in name])

    def test_stamp(self):
        stamp = self.folder / "deep" / "stamp"
        self.assertFalse(setup.stamped(stamp, "k1"))
        setup.write_stamp(stamp, "k1")
        self.assertTrue(setup.stamped(stamp, "k1"))
        self.assertFalse(setup.stamped(stamp, "k2"))


if __name__ == "__main__":
    unittest.main()
