#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes src/tokenizer/unicode_tables.inc: character classes, combining classes, canonical decompositions and compositions.

    pip install unicodedata2==16.0.0 && python3 scripts/gen_unicode.py > src/tokenizer/unicode_tables.inc

Unicode 16 is the version whose letters and numbers the reference tokenizer's regex knows. What a table's entry means is
said above the table; unicode.c reads them.
"""
import unicodedata2 as ucd

VERSION = '16.0.0'
LAST = 0x10FFFF
CLASS = {'L': 1, 'N': 2, 'Z': 3}
HANGUL_SYLLABLES = range(0xAC00, 0xAC00 + 11172)
HANGUL_VOWELS_AND_TRAILS = set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))


def code_points():
    return (c for c in range(LAST + 1) if not 0xD800 <= c <= 0xDFFF)


def char_class(c):
    if 0x09 <= c <= 0x0D or c == 0x85:  # White_Space is category Z and these controls
        return 3
    return CLASS.get(ucd.category(chr(c))[0], 0)


def decomposition(c):
    """Canonical decomposition by one step: a tuple of one or two code points, or (). Hangul is left to arithmetic."""
    field = ucd.decomposition(chr(c))
    if not field or field.startswith('<') or c in HANGUL_SYLLABLES:
        return ()
    return tuple(int(x, 16) for x in field.split())


def runs(value):
    """[(first, value)] wherever value(c) differs from that of the code point before; surrogates join what is before."""
    out = []
    for c in code_points():
        v = value(c)
        if not out or out[-1][1] != v:
            out.append((c, v))
    return out


def steps(parts, c):
    return 1 + steps(parts, parts[c][0]) if c in parts else 0


def array(comment, name, values, form, per_row):
    texts = [form % v for v in values]
    rows = ('    %s,\n' % ', '.join(texts[i:i + per_row]) for i in range(0, len(texts), per_row))
    print('\n/* %s */\nstatic const %s[%d] = {\n%s};' % (comment, name, len(values), ''.join(rows)))


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

    classes = runs(char_class)
    marks = runs(lambda c: is_careful(c) << 8 | ucd.combining(chr(c)))
    pairs = [(c, p[0], p[1] if len(p) == 2 else 0) for c, p in sorted(parts.items())]
    order = sorted((p[0], p[1], i) for i, (c, *p) in enumerate(pairs) if c in composes)

    print('/* SPDX-License-Identifier: MIT\n'
          ' * Unicode %s. Made by scripts/gen_unicode.py, not by hand. */\n/* clang-format off */' % VERSION)
    array('first code point << 2 | class, of every run of one class: 0 other, 1 letter, 2 number, 3 white space.',
          'uint32_t class_runs', [f << 2 | v for f, v in classes], '0x%x', 12)
    array('first code point << 9 | careful << 8 | canonical combining class, of every run.',
          'uint32_t mark_runs', [f << 9 | v for f, v in marks], '0x%x', 10)
    array('code point << 42 | first << 21 | second, by code point: one step of canonical decomposition.',
          'uint64_t decompositions', [c << 42 | a << 21 | b for c, a, b in pairs], '0x%x', 6)
    array('Indices of the decompositions that may be undone, by (first, second).',
          'uint16_t compositions', [i for _, _, i in order], '%d', 18)


if __name__ == '__main__':
    main()
