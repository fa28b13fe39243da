import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Column, table } from './table.ts';
import { age, cut, duration, milliseconds, printable, widthOf } from './text.ts';

type Row = Record<'id' | 'text' | 'more', string>;
const columns: Column<Row>[] = [
  { title: 'id', of: ({ id }) => id },
  { title: 'text', of: ({ text }) => text, min: 6 },
  { title: 'more', of: ({ more }) => more, min: 6, rank: 1 },
];

describe('a table', () => {
  it('aligns what fits, and leaves out columns that are empty', () => {
    const rows = [
      { id: '1', text: 'short', more: '-' },
      { id: '22', text: '漢字', more: '-' },
    ];
    expect(table(rows, columns, 80)).toEqual({ lines: ['id  text', '1   short', '22  漢字'], left: [] });
  });

  it('cuts long texts first, and then says which columns did not fit', () => {
    const rows = [{ id: 'x'.repeat(10), text: 'a'.repeat(50), more: 'b'.repeat(50) }];
    const cutDown = `${'x'.repeat(10)}  ${'a'.repeat(12)}…  ${'b'.repeat(12)}…`;
    expect(table(rows, columns, 40)).toEqual({ lines: [expect.any(String), cutDown], left: [] });
    expect(table(rows, columns, 20)).toEqual({
      lines: [expect.any(String), `${'x'.repeat(10)}  aaaaaaa…`],
      left: ['more'],
    });
  });

  it('has whole cells below their rows where there is no room for their columns', () => {
    const below: Column<Row>[] = [
      { title: 'id', of: ({ id }) => id },
      { title: 'text', of: ({ text }) => text, isBelow: true },
      { title: 'more', of: ({ more }) => more, isBelow: true },
    ];
    const rows = [
      { id: '1', text: 'a'.repeat(8), more: 'b'.repeat(3) },
      { id: '2', text: '-', more: '-' },
      { id: '3', text: 'c'.repeat(30), more: 'd' },
    ];
    expect(table(rows, below, 24)).toEqual({
      lines: ['id', '1', '  text aaaaaaaa', '  more bbb', '2', '3', `  text ${'c'.repeat(30)}`, '  more d'],
      left: [],
    });
    expect(table(rows.slice(0, 2), below, 24).lines).toEqual([
      'id  text      more',
      '1   aaaaaaaa  bbb',
      '2   -         -',
    ]);
    expect(table(rows, below, 25).lines).toContain('  text aaaaaaaa  more bbb');
  });

  it('is never wider than the terminal while its ids fit, whatever the texts', () => {
    const text = fc.string({ unit: 'binary', maxLength: 60 });
    const row = fc.record({ id: fc.constantFrom('1', 'x'.repeat(36)), text, more: text });
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), fc.integer({ min: 44, max: 200 }), (rows, width) => {
        for (const line of table(rows, columns, width).lines) {
          expect(widthOf(line)).toBeLessThanOrEqual(width);
          expect(printable(line)).toBe(line);
        }
      }),
    );
  });
});

describe('texts', () => {
  it('show control and invisible characters as escapes', () => {
    expect(printable('a\u001b]0;x\u0007\n\u202eb\u009b')).toBe('a\\u{1b}]0;x\\u{7}\\n\\u{202e}b\\u{9b}');
    expect(printable('Grüße, 漢字 🎉')).toBe('Grüße, 漢字 🎉');
  });

  it('are cut to columns, not to characters', () => {
    expect(cut('abcdef', 6)).toBe('abcdef');
    expect(cut('abcdef', 4)).toBe('abc…');
    expect(cut('漢字漢字', 6)).toBe('漢字…');
    expect(cut('abc', 0)).toBe('');
  });

  it('say durations and ages in one unit', () => {
    expect([0, 59.9, 60, 7199, 172_799, 172_800].map(duration)).toEqual(['0s', '59s', '1m', '1h', '47h', '2d']);
    const now = new Date('2026-11-20T12:00:00Z');
    expect(age('2026-11-20T12:57:00+01:00', now)).toBe('3m');
    expect(age('2026-11-20T12:00:00.900Z', now)).toBe('0s');
    expect(age('2026-11-20T12:05:00Z', now)).toBe('in 5m');
    expect(age('2026-11-20T12:57:00+01:00', undefined)).toBe('2026-11-20 11:57');
    expect(age(undefined, now)).toBe('-');
    expect([0.417, 9.9999, 35.21, 99.99, 1204.4].map(milliseconds)).toEqual(['0.42', '10.0', '35.2', '100', '1,204']);
  });
});
