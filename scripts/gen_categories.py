#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes src/format/category_runs.inc: the general category of every code point.

    pip install unicodedata2==16.0.0 && python3 scripts/gen_categories.py > src/format/category_runs.inc

The version is that of scripts/gen_unicode.py. regex_classes.c reads the runs in order, once a class that is asked for.
"""
import unicodedata2 as ucd

VERSION = '16.0.0'
LAST = 0x10FFFF
NAMES = ('Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn').split()


def leb128(n):
    while n > 127:
        yield n & 127 | 128
        n >>= 7
    yield n


def runs():
    first, category = 0, ucd.category(chr(0))
    for c in range(1, LAST + 2):
        now = ucd.category(chr(c)) if c <= LAST else None
        if now != category:
            yield category, c - first
            first, category = c, now


def main():
    if ucd.unidata_version != VERSION:
        raise SystemExit('unicodedata2 %s is wanted, this is %s' % (VERSION, ucd.unidata_version))
    data = []
    for category, n in runs():
        index = NAMES.index(category)
        data += [index << 3 | n] if n < 8 else [index << 3, *leb128(n)]
    print('/* SPDX-License-Identifier: MIT')
    print(' * Unicode %s. Made by scripts/gen_categories.py, not by hand. */' % VERSION)
    print('/* clang-format off */\n')
    print('static const char category_names[] = "%s";\n' % ''.join(NAMES))
    print('/* category << 3 | length of a run of code points, or 0 and the length as LEB128, from U+0000 on. */')
    print('static const uint8_t category_runs[%d] = {' % len(data))
    for i in range(0, len(data), 24):
        print('    %s,' % ', '.join(str(b) for b in data[i:i + 24]))
    print('};')


if __name__ == '__main__':
    main()
