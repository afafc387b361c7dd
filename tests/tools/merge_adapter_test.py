"""Tests tools/merge_adapter.py on a two-tensor model. Run with .venv/bin/python, which has gguf and numpy."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import gguf
import numpy as np
from gguf.quants import dequantize, quantize

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "merge_adapter.py"
Q4_1, Q8_0, F32 = (gguf.GGMLQuantizationType[name] for name in ("Q4_1", "Q8_0", "F32"))
RANK, ALPHA, ROWS, COLUMNS = 4, 8.0, 16, 64


def write(path, tensors, arch="llama", **metadata):
    writer = gguf.GGUFWriter(path, arch)
    for key, value in metadata.items():
        key = key.replace("__", ".")
        if isinstance(value, str):
            writer.add_string(key, value)
        elif isinstance(value, list):
            writer.add_array(key, value)
        elif isinstance(value, float):
            writer.add_float32(key, value)
        else:
            writer.add_uint32(key, value)
    for name, (data, kind) in tensors.items():
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class MergeAdapterTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        random = np.random.default_rng(1)
        normal = lambda *shape: random.normal(size=shape).astype(np.float32)
        self.weight, self.plain = quantize(normal(ROWS, COLUMNS), Q4_1), quantize(normal(ROWS, COLUMNS), Q8_0)
        self.norm = normal(COLUMNS)
        self.a, self.b = normal(RANK, COLUMNS) / 8, normal(ROWS, RANK) / 8
        write(self.folder / "base.gguf", {
            "token_embd.weight": (self.plain, Q8_0),
            "blk.0.attn_q.weight": (self.weight, Q4_1),
            "blk.0.attn_norm.weight": (self.norm, F32),
        }, general__name="base", general__file_type=3, llama__block_count=1, llama__rope__freq_base=1e5,
            tokenizer__ggml__tokens=["a", "é", "\n"], tokenizer__ggml__token_type=[1, 1, 3],
            tokenizer__chat_template="{{ x }}")

    def adapter(self, weight="blk.0.attn_q.weight", arch="llama", rows=ROWS, **metadata):
        write(self.folder / "adapter.gguf", {
            f"{weight}.lora_a": (self.a, F32), f"{weight}.lora_b": (self.b[:rows], F32),
        }, arch, **{"general__type": "adapter", "adapter__type": "lora", "adapter__lora__alpha": ALPHA, **metadata})

    def run_script(self, base="base.gguf", adapter="adapter.gguf"):
        return subprocess.run([sys.executable, SCRIPT, base, adapter, "out.gguf", "--name", "merged"],
                              cwd=self.folder, text=True, capture_output=True)

    def assert_refuses(self, run, message):
        self.assertEqual(run.returncode, 1)
        self.assertIn(message, run.stderr)
        self.assertNotIn("Traceback", run.stderr)
        self.assertEqual([f for f in os.listdir(self.folder) if f.startswith("out.gguf")], [])

    def test_adds_scaled_product_and_writes_q8_0(self):
        self.adapter()
        run = self.run_script()
        self.assertEqual(run.returncode, 0, run.stderr)
        tensors = {t.name: t for t in gguf.GGUFReader(self.folder / "out.gguf").tensors}
        merged = tensors["blk.0.attn_q.weight"]
        expected = dequantize(self.weight, Q4_1) + (ALPHA / RANK) * (self.b @ self.a)
        self.assertEqual(merged.tensor_type, Q8_0)
        # Q8_0's step is a 127th of the largest of a block of 32; rounding errs by half a step.
        self.assertLess(np.abs(dequantize(merged.data, Q8_0) - expected).max(), np.abs(expected).max() / 127)
        self.assertEqual(tensors["token_embd.weight"].data.tobytes(), self.plain.tobytes())
        self.assertEqual(tensors["blk.0.attn_norm.weight"].data.tobytes(), self.norm.tobytes())

    def test_keeps_metadata_but_name_and_file_type(self):
        self.adapter()
        self.run_script()
        read = lambda name: {k: (f.types, f.contents()) for k, f in gguf.GGUFReader(self.folder / name).fields.items()}
        base, out = read("base.gguf"), read("out.gguf")
        self.assertEqual(out["general.name"][1], "merged")
        self.assertEqual(out["general.file_type"][1], 7)
        for key in set(base) - {"general.name", "general.file_type", "GGUF.kv_count"}:
            self.assertEqual(out[key], base[key], key)

    def test_refuses_wrong_inputs(self):
        self.adapter()
        self.assert_refuses(self.run_script(base="none.gguf"), "none.gguf: no such file")
        self.assert_refuses(self.run_script(adapter="base.gguf"), "base.gguf: not a LoRA adapter")
        (self.folder / "text.gguf").write_text("no model at all")
        self.assert_refuses(self.run_script(base="text.gguf"), "text.gguf: not a readable GGUF file")
        self.adapter(weight="blk.9.attn_q.weight")
        self.assert_refuses(self.run_script(), "adapts blk.9.attn_q.weight, which the base does not have")
        self.adapter(rows=ROWS - 1)
        self.assert_refuses(self.run_script(), "blk.0.attn_q.weight is (16, 64), but B @ A is (15, 4) @ (4, 64)")
        self.adapter(arch="qwen3")
        self.assert_refuses(self.run_script(), "made for architecture 'qwen3', the base is 'llama'")


if __name__ == "__main__":
    unittest.main()
