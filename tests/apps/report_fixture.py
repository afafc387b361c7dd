"""Runs as `bench --results` writes them, small, with every case that the page tells apart."""
import json

NASTY = "<img src=x onerror=alert(1)>&\"'|\u202e</script>"
MACHINE = {"cpu": "A <b>CPU</b>", "cores": 2, "instructions": ["avx2"], "memory_gib": 16, "system": "Linux x86_64"}


def header(table=0, figure=0, **other):
    settings = {"model_hash": "ab", "preset": "paper", "seed": 7, "temperature": 0.0, "table": table, "figure": figure}
    return {"type": "bench", "settings": settings, "version": "1.2.3", "model": "Tiny", "weights": "Q8_0", "model_bytes": 1 << 27,
            "device": "CPU", "threads": 2, "guarantee": "self-test: rows agree", "limit": 3, "launches": 2, "machine": MACHINE, **other}


def sample(method, request="parallel_0", dataset="bfcl", launch=0, forwards=20, decode_ms=200, calls=None, text="", **other):
    stats = {"prompt_tokens": 100, "reused_tokens": 0, "tokens": 20, "forwards": forwards, "lossy": method == "parallel-fill", "nodes": 40,
             "side_rows": 0, "accepted_nodes": 5, "prepare_ms": 2, "forecast_ms": 0.1, "prefill_ms": 98, "draft_ms": 0.2 * decode_ms,
             "verify_ms": 0.7 * decode_ms, "total_ms": 100 + decode_ms, "kept_cells": 120, "peak_cells": 130, "kept_bytes": 1 << 20 if method == "ar" else 5 << 18}
    line = {"type": "sample", "dataset": dataset, "request": request, "prompt": "p", "method": method, "launch": launch, "agrees": True,
            "stop": "closed", "stats": stats, "nodes_by_forward": [12, 8, 3], "token_ids": [1], "text": text, **other}
    return line if calls is None else {**line, "calls": calls}


def methods_run(table=1, launches=2):
    """Two data sets, one with a name of markup; a lossy method, one that disagrees, one that failed."""
    lines = [header(table)]
    for dataset in ("bfcl", NASTY):
        for launch in range(launches):
            for method, forwards, ms in (("ar", 20, 200), ("eagle3", 8, 150), ("schemafill", 3, 60 + 20 * launch),
                                         ("parallel-fill", 0, 90), ("llamacpp", 20, 190), (NASTY, 20, 400)):
                line = sample(method, dataset=dataset, launch=launch, forwards=forwards, decode_ms=ms)
                line["agrees"] = method != "parallel-fill"
                if method == NASTY:
                    line.update(agrees=False, error="no room")
                lines.append(line)
    return lines


def calls_run():
    """Table 3: 12 requests of each number of calls; more calls, more nodes."""
    lines = [header(3)]
    for calls in range(1, 5):
        for i in range(12):
            for method, forwards, ms in (("ar", 20, 200), ("schemafill", 6 - calls, 60)):
                line = sample(method, f"simple_{calls}_{i}", "call-counts", forwards=forwards, decode_ms=ms, calls=calls)
                if method == "schemafill":
                    line["nodes_by_forward"] = [20 * calls + i, 9 * calls, 4 * calls, 2, 1][:6 - calls]
                lines.append(line)
    return lines


def deviation_run():
    """Figure 2: 20 answers of three calls with three values each; in answer i the values from the i-th on differ."""
    def answer(first):
        values = [0 if i < first else 1 for i in range(9)]
        calls = [{"name": "f", "arguments": dict(zip("abc", values[3 * i:3 * i + 3]))} for i in range(3)]
        return json.dumps({"tool_calls": calls})
    lines = [header(0, 2)]
    for i in range(20):
        lines.append(sample("ar", f"parallel_{i}", text=answer(9)))
        lines.append(sample("parallel-fill", f"parallel_{i}", text=answer(i % 10), agrees=i % 10 == 9))
    return lines


def text(lines):
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
