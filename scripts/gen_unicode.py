#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes src/tokenizer/unicode_tables.inc: general categories, combining classes, canonical decompositions, packed.

    pip install unicodedata2==16.0.0 && python3 scripts/gen_unicode.py > src/tokenizer/unicode_tables.inc

Unicode 16 is the version whose letters and numbers the reference tokenizer's regex knows. What a table's bytes mean is
said above the table; unicode.c unpacks them.
"""
import unicodedata2 as ucd

VERSION = '16.0.0'
LAST = 0x10FFFF
CATEGORIES = 'Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn'.split()
HANGUL_SYLLABLES = range(0xAC00, 0xAC00 + 11172)
HANGUL_VOWELS_AND_TRAILS = set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))


def code_points():
    return (c for c in range(LAST + 1) if not 0xD800 <= c <= 0xDFFF)


def char_class(c):
    """As unicode.c makes it of the category, to count the runs."""
    if 0x09 <= c <= 0x0D or c == 0x85:  # White_Space is category Z and these controls
        return 'Z'
    return ucd.category(chr(c))[0] if ucd.category(chr(c))[0] in 'LNZ' else ''


def decomposition(c):
    """Canonical decomposition by one step: a tuple of one or two code points, or (). Hangul is left to arithmetic."""
    field = ucd.decomposition(chr(c))
    if not field or field.startswith('<') or c in HANGUL_SYLLABLES:
        return ()
    return tuple(int(x, 16) for x in field.split())


def leb128(n):
    while n > 127:
        yield n & 127 | 128
        n >>= 7
    yield n


def zigzag(n):
    return n << 1 if n >= 0 else (-n << 1) - 1


def runs(value):
    """[(value, length)] of the runs of one value, from U+0000 on."""
    out = []
    for c in range(LAST + 1):
        v = value(c)
        if out and out[-1][0] == v:
            out[-1][1] += 1
        else:
            out.append([v, 1])
    return out


def steps(parts, c):
    return 1 + steps(parts, parts[c][0]) if c in parts else 0


def array(comment, name, values):
    rows = ('    %s,\n' % ', '.join(map(str, values[i:i + 24])) for i in range(0, len(values), 24))
    print('\n/* %s */\nstatic const uint8_t %s[%d] = {\n%s};' % (comment, name, len(values), ''.join(rows)))


def main():
    if ucd.unidata_version != VERSION:
        raise SystemExit('unicodedata2 %s is wanted, this is %s' % (VERSION, ucd.unidata_version))

    parts = {c: decomposition(c) for c in code_points()}
    parts = {c: p for c, p in parts.items() if p}
    composes = {c for c, p in parts.items() if len(p) == 2 and ucd.normalize('NFC', ''.join(map(chr, p))) == chr(c)}
    seconds = {parts[c][1] for c in composes} | HANGUL_VOWELS_AND_TRAILS

    # What unicode.c and nfc.c rely on.
    assert all(len(p) <= 2 for p in parts.values())
    assert all(p[1] not in parts for p in parts.values() if len(p) == 2)
    assert all(ucd.combining(chr(parts[c][0])) == 0 for c in composes)
    assert all(steps(parts, c) <= 3 for c in parts)

    def is_careful(c):
        """Whether NFC may change c, or a character before c because of it."""
        first = ord(ucd.normalize('NFD', chr(c))[0])
        return bool(ucd.combining(chr(c)) or ucd.combining(chr(first)) or first in seconds
                    or ucd.normalize('NFC', chr(c)) != chr(c))

    categories = []
    for v, n in runs(lambda c: CATEGORIES.index(ucd.category(chr(c)))):
        categories += [v << 3 | n] if n < 8 else [v << 3, *leb128(n)]

    marks, values, mark_runs = [], [], 0
    for v, n in runs(lambda c: is_careful(c) << 8 | ucd.combining(chr(c)) if not 0xD800 <= c <= 0xDFFF else 0):
        if v not in values:
            values.append(v)
        marks += [values.index(v), *leb128(n)]
        mark_runs += 1

    decompositions, last, last_first = [], 0, 0
    for c, p in sorted(parts.items()):
        decompositions += leb128((c - last) << 1 | (c in composes))
        decompositions += leb128(zigzag(p[0] - last_first))
        decompositions += leb128(zigzag(p[1] - 0x300) if len(p) == 2 else zigzag(-0x300))
        last, last_first = c, p[0]

    print('/* SPDX-License-Identifier: MIT\n'
          ' * Unicode %s. Made by scripts/gen_unicode.py, not by hand. */\n/* clang-format off */\n' % VERSION)
    print('enum { CLASS_RUNS = %d, MARK_RUNS = %d, DECOMPOSITIONS = %d, COMPOSITIONS = %d };\n'
          % (len(runs(char_class)), mark_runs, len(parts), len(composes)))
    print('#define CATEGORY_NAMES "%s"' % ''.join(CATEGORIES))
    array('category << 3 | length of a run of code points, or category << 3 and the length as LEB128, from U+0000 on.',
          'category_runs', categories)
    print('\n/* careful << 8 | canonical combining class. */')
    print('static const uint16_t mark_values[%d] = {%s};' % (len(values), ', '.join(map(str, values))))
    array('Index of a value, length of the run as LEB128, from U+0000 on.', 'mark_runs', marks)
    array('LEB128 of each: distance to the code point before << 1 | whether it is composed again; distance of the first '
          'part to that of\n * the one before, as zigzag; the second part less U+0300, as zigzag (it is 0 where there is none).',
          'decompositions', decompositions)


if __name__ == '__main__':
    main()
