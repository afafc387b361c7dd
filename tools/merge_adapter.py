#!/usr/bin/env python3
"""Merges a LoRA adapter into a base model and writes the result as a Q8_0 GGUF.

    merge_adapter.py BASE.gguf ADAPTER.gguf OUTPUT.gguf [--name NAME]

For every adapted weight W [out, in] with A [rank, in] and B [out, rank]:

    W' = W + (alpha / rank) * B @ A          (alpha from the adapter's metadata)

Matrices are written as Q8_0 and vectors as F32, whatever the base used: SchemaFill's exactness promise is measured for
Q8_0 weights (ARCHITECTURE.md). A matrix that is Q8_0 already and has no adapter keeps its bytes. All metadata of the base
is kept, except its name and file type. OUTPUT appears only when it is complete. Needs gguf and numpy (`make setup`).
"""

import argparse
import os
import sys

import gguf
import numpy as np
from gguf.quants import dequantize, quantize

F32, Q8_0 = gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.Q8_0


class MergeError(Exception):
    """Wrong input; the message is for a person."""


def open_gguf(path):
    try:
        return gguf.GGUFReader(path)
    except FileNotFoundError:
        raise MergeError(f"{path}: no such file") from None
    except Exception as e:  # the reader raises many kinds on damaged files
        raise MergeError(f"{path}: not a readable GGUF file ({e})") from None


def metadata(reader, key):
    field = reader.get_field(key)
    return field.contents() if field else None


def as_float(tensor):
    return dequantize(tensor.data, tensor.tensor_type).astype(np.float32, copy=False)


def read_deltas(reader, path, base):
    """{weight name: (A, B, scale)}, checked against the base's tensors."""
    if metadata(reader, "general.type") != "adapter" or metadata(reader, "adapter.type") != "lora":
        raise MergeError(f"{path}: not a LoRA adapter (general.type is {metadata(reader, 'general.type')!r})")
    arch, base_arch = (metadata(r, "general.architecture") for r in (reader, base))
    if arch != base_arch:
        raise MergeError(f"{path}: made for architecture {arch!r}, the base is {base_arch!r}")
    alpha = metadata(reader, "adapter.lora.alpha")
    if not alpha:
        raise MergeError(f"{path}: has no adapter.lora.alpha")

    parts = {t.name: t for t in reader.tensors}
    shapes = {t.name: tuple(int(n) for n in reversed(t.shape)) for t in base.tensors}  # [out, in]
    deltas = {}
    for name in parts:
        weight, _, kind = name.rpartition(".")
        if kind not in ("lora_a", "lora_b"):
            raise MergeError(f"{path}: tensor {name} is no part of a LoRA")
        if weight in deltas:
            continue
        if weight not in shapes:
            raise MergeError(f"{path}: adapts {weight}, which the base does not have")
        if f"{weight}.lora_a" not in parts or f"{weight}.lora_b" not in parts:
            raise MergeError(f"{path}: {weight} lacks its lora_a or lora_b")
        a, b = as_float(parts[f"{weight}.lora_a"]), as_float(parts[f"{weight}.lora_b"])
        if a.ndim != 2 or b.ndim != 2 or a.shape[0] != b.shape[1] or (b.shape[0], a.shape[1]) != shapes[weight]:
            raise MergeError(f"{path}: {weight} is {shapes[weight]}, but B @ A is {b.shape} @ {a.shape}")
        deltas[weight] = (a, b, alpha / a.shape[0])
    if not deltas:
        raise MergeError(f"{path}: holds no tensors")
    return deltas


def copy_metadata(reader, writer, overrides):
    for key, field in reader.fields.items():
        # The first three describe the file itself; the writer makes its own. It wrote the architecture already.
        if key.startswith("GGUF.") or key == "general.architecture":
            continue
        value_type = field.types[0]
        sub_type = field.types[-1] if value_type == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(key, overrides.pop(key, field.contents()), value_type, sub_type)
    for key, value in overrides.items():
        kind = gguf.GGUFValueType.STRING if isinstance(value, str) else gguf.GGUFValueType.UINT32
        writer.add_key_value(key, value, kind)


def merged(tensor, delta):
    """(data, type) of one tensor of the result."""
    if len(tensor.shape) == 1:
        if delta:
            raise MergeError(f"{tensor.name}: adapters of vectors are not supported")
        return as_float(tensor), F32
    if not delta and tensor.tensor_type == Q8_0:
        return tensor.data, Q8_0
    weight = as_float(tensor)
    if delta:
        a, b, scale = delta
        weight = weight + np.float32(scale) * (b @ a)
    if weight.shape[-1] % 32:
        raise MergeError(f"{tensor.name}: rows of {weight.shape[-1]} are no multiple of Q8_0's block of 32")
    return quantize(weight, Q8_0), Q8_0


def merge(base_path, adapter_path, output_path, name, progress):
    base = open_gguf(base_path)
    deltas = read_deltas(open_gguf(adapter_path), adapter_path, base)
    temporary = f"{output_path}.{os.getpid()}.part"
    writer = gguf.GGUFWriter(temporary, metadata(base, "general.architecture"))
    try:
        copy_metadata(base, writer, {
            "general.name": name,
            "general.file_type": int(gguf.LlamaFileType.MOSTLY_Q8_0),
            "general.quantization_version": gguf.GGML_QUANT_VERSION,
        })
        for done, tensor in enumerate(base.tensors, 1):
            data, kind = merged(tensor, deltas.get(tensor.name))
            writer.add_tensor(tensor.name, data, raw_dtype=kind)
            progress(done, len(base.tensors))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        os.replace(temporary, output_path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)
    return len(deltas)


def main():
    parser = argparse.ArgumentParser(description="Merges a LoRA adapter into a base GGUF; writes Q8_0.")
    parser.add_argument("base")
    parser.add_argument("adapter")
    parser.add_argument("output")
    parser.add_argument("--name", default="SmolLM2 135M Instruct + SchemaFill tools adapter")
    args = parser.parse_args()
    if os.path.realpath(args.output) in (os.path.realpath(args.base), os.path.realpath(args.adapter)):
        parser.error("OUTPUT would overwrite an input")
    # "[n/total]" lines, which tools/setup.py turns into one line that counts.
    progress = lambda done, total: print(f"[{done}/{total}]", flush=True)
    try:
        count = merge(args.base, args.adapter, args.output, args.name, progress)
    except MergeError as e:
        sys.exit(f"merge_adapter: {e}")
    except OSError as e:
        sys.exit(f"merge_adapter: cannot write {args.output}: {e.strerror}")
    print(f"{args.output}: {count} weights adapted, {os.path.getsize(args.output) / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
