"""Runs the commands that README.md shows, so that they can't rot. usage: readme_test.py PROGRAM"""
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)
README = pathlib.Path("README.md").read_text()


def shown_commands():
    blocks = re.findall(r"```sh\n(.*?)```", README, re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.strip()]


class Readme(unittest.TestCase):
    def test_program_commands_succeed(self):
        commands = [command for command in shown_commands() if command[0] == "build/schemafill"]
        self.assertGreater(len(commands), 3)
        for command in commands:
            with self.subTest(" ".join(command)):
                result = subprocess.run([PROGRAM, *command[1:]], capture_output=True, text=True)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertTrue(result.stdout)

    def test_make_targets_exist(self):
        targets = [command[1] for command in shown_commands() if command[0] == "make"]
        self.assertEqual(targets[:2], ["demo", "test"])
        for target in targets:
            subprocess.run(["make", "--dry-run", target], check=True, capture_output=True)

    def test_links_lead_somewhere(self):
        for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]:
            for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", pathlib.Path(document).read_text()):
                self.assertTrue(pathlib.Path(link).exists(), f"{document}: {link}")


if __name__ == "__main__":
    unittest.main()
