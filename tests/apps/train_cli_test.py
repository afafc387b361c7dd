"""The trainer's commands as a user meets them. usage: train_cli_test.py PROGRAM"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1))
TRAINER = PROGRAM.with_name("schemafill-train")


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


class TrainCli(unittest.TestCase):
    def test_without_trainers_the_error_says_how_to_get_them(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = shutil.copy2(PROGRAM, folder)
            code, out, err = run(alone, "train-head", "--target", "x")
            self.assertEqual((code, out), (2, ""))
            self.assertIn("make train-tools", err)

    @unittest.skipUnless(TRAINER.exists(), "built without trainers")
    def test_words_reach_the_trainer(self):
        for command in ("train-adapter", "train-head"):
            code, out, _ = run(PROGRAM, command, "--help")
            self.assertEqual(code, 0)
            self.assertIn(f"schemafill {command}", out)
            code, out, err = run(PROGRAM, command)
            self.assertEqual((code, out), (2, ""))
            self.assertIn("--target is required", err)

    @unittest.skipUnless(TRAINER.exists(), "built without trainers")
    def test_wrong_files_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            empty = pathlib.Path(folder) / "empty.jsonl"
            empty.touch()
            out = f"{folder}/out.gguf"
            for words, message in [
                (("train-head", "--target", empty, "--requests", empty), "has no requests"),
                (("train-head", "--target", empty, "--requests", f"{folder}/none"), "none' can't be opened"),
                (("train-adapter", "--target", empty, "--examples", empty, "--held-out", empty), "is not a GGUF file"),
                (("train-adapter", "--target", folder, "--examples", empty, "--held-out", empty), "is a directory"),
            ]:
                code, _, err = run(PROGRAM, *words, "--out", out)
                self.assertEqual(code, 2, err)
                self.assertIn(message, err)


if __name__ == "__main__":
    unittest.main()
