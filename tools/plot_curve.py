#!/usr/bin/env python3
"""Draws the curve that a training run wrote as an SVG picture.

    plot_curve.py OUT.curve.jsonl -o OUT.svg --title "..."

Two panels over the number of examples: the loss (training and held out), and the held-out shares (accuracy, or a head's
acceptance at each step), from 0 to 1. Follows the reader's light or dark theme. Standard library only.
"""

import argparse
import json
import sys
from html import escape
from pathlib import Path

WIDTH, HEIGHT = 720, 300
PANEL = 280  # both ways of a panel's inside, x; panels are HEIGHT - 90 high
COLOURS = ["#0b62c4", "#c2410c", "#15803d", "#a21caf", "#b45309", "#0e7490", "#be123c"]


def series(lines):
    """({name: [(examples, loss)]}, {name: [(examples, share)]})"""
    losses, shares = {}, {}
    for line in lines:
        x = line["examples"]
        if "loss" in line:
            losses.setdefault("training", []).append((x, line["loss"]))
        for name, value in line["held_out"].items():
            target = losses if name == "loss" else shares
            target.setdefault("held out" if name == "loss" else name.replace("_", " "), []).append((x, value))
    return losses, shares


def ticks(top):
    """Round values from 0 to a little over `top`."""
    step = next(s * 10 ** e for e in range(-4, 6) for s in (1, 2, 5) if s * 10 ** e * 5 >= top)
    return [i * step for i in range(6) if i * step <= top * 1.2 or i < 2]


def panel(left, title, lines, last, top):
    high = HEIGHT - 90
    marks = ticks(top)
    x = lambda value: left + PANEL * value / max(1, last)
    y = lambda value: 40 + high * (1 - value / marks[-1])
    out = [f'<text class="t" x="{left}" y="20">{escape(title)}</text>']
    for mark in marks:
        out.append(f'<line class="g" x1="{left}" x2="{left + PANEL}" y1="{y(mark):.1f}" y2="{y(mark):.1f}"/>'
                   f'<text x="{left - 6}" y="{y(mark) + 4:.1f}" text-anchor="end">{mark:.4g}</text>')
    for mark in ticks(last):
        if mark <= last:
            out.append(f'<text x="{x(mark):.1f}" y="{HEIGHT - 34}" text-anchor="middle">{mark:,.0f}</text>')
    for i, (name, points) in enumerate(lines.items()):
        colour = COLOURS[i % len(COLOURS)]
        path = " ".join(f"{x(a):.1f},{y(min(b, marks[-1])):.1f}" for a, b in points)
        out.append(f'<polyline points="{path}" stroke="{colour}"/>')
        out.append(f'<text x="{left + i % 3 * 96}" y="{HEIGHT - 16 + i // 3 * 13}" style="fill:{colour}">'
                   f"{escape(name)}</text>")
    return "\n".join(out)


def draw(lines, title):
    losses, shares = series(lines)
    last = max(line["examples"] for line in lines)
    # The first held-out loss, before any step, would flatten the rest.
    later = sorted(v for points in losses.values() for _, v in points[1:] or points)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT + 14}" role="img"
 font-family="system-ui, sans-serif" font-size="11">
<title>{escape(title)}</title>
<style>text {{ fill: #555 }} .t {{ fill: #111; font-size: 13px }} .g {{ stroke: #ddd }}
polyline {{ fill: none; stroke-width: 2 }} svg {{ background: #fff }}
@media (prefers-color-scheme: dark) {{ text {{ fill: #aaa }} .t {{ fill: #eee }} .g {{ stroke: #444 }}
svg {{ background: #111 }} polyline {{ filter: brightness(1.6) }} }}</style>
{panel(50, title + ": loss over examples", losses, last, later[-1])}
{panel(410, "held-out shares", shares, last, 1)}
</svg>
"""


def main():
    parser = argparse.ArgumentParser(description="Draws a training curve as SVG.")
    parser.add_argument("curve", type=Path)
    parser.add_argument("-o", "--out", required=True, type=Path)
    parser.add_argument("--title", default="training")
    args = parser.parse_args()
    try:
        lines = [json.loads(line) for line in args.curve.read_text(encoding="utf-8").splitlines()]
        picture = draw(lines, args.title)
    except (OSError, ValueError, KeyError, IndexError) as e:
        sys.exit(f"plot_curve: {args.curve}: not a training curve ({e})")
    args.out.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
