#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes src/kernels/iq_grids.inc, the grids of the IQ types, a number for each entry: a digit takes 2 bits of it where an entry
stands for 8 weights, 3 where it does for 4; the first weight's is the lowest.
usage: gen_iq_tables.py tables.json

tables.json: {"grids": {"iq2_xxs": ["00000000", "20000000", ...], ...}}, an entry's digits from the first weight on."""
import json
import os
import sys

HEAD = """\
/* SPDX-License-Identifier: MIT
 * Made by scripts/gen_iq_tables.py: the grids of the IQ types, data of the file format.
 * Copyright (c) 2023-2026 The ggml authors (the numbers; MIT). */
"""


def numbers(entries):
    width = 2 if len(entries[0]) == 8 else 3
    return [sum(int(digit) << width * i for i, digit in enumerate(entry)) for entry in entries]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        grids = json.load(file)["grids"]
    text = HEAD
    for name, entries in grids.items():
        values = [f"{value:#06x}," for value in numbers(entries)]
        text += f"static const uint16_t GRID_{name.upper()}[{len(values)}] = {{\n"
        text += "".join("    " + " ".join(values[i : i + 14]) + "\n" for i in range(0, len(values), 14)) + "};\n"
    out = os.path.join(os.path.dirname(__file__), "..", "src", "kernels", "iq_grids.inc")
    with open(out, "w", encoding="utf-8") as file:
        file.write(text)


main()
