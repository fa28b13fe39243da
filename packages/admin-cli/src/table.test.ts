import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Columns, table } from './table.ts';
import { age, cut, duration, isTimestamp, milliseconds, printable, widthOf, wrap } from './text.ts';

type Row = Record<'id' | 'text' | 'more', string>;
const columns: Columns<Row> = { id: 'id', text: 'text', more: 'more' };
const screen = (width: number) => ({ columns: width, now: new Date() });

describe('a table', () => {
  it('aligns columns, numbers and durations to the right, and omits empty columns', () => {
    const rows = [
      { id: 'a', text: '漢字', more: '3m' },
      { id: 'bb', text: 'short', more: '120' },
    ];
    expect(table(rows, columns, screen(80))).toEqual(['id  text   more', 'a   漢字     3m', 'bb  short   120']);
    const empty = rows.map((row) => ({ ...row, text: '' }));
    expect(table(empty, columns, screen(80))).toEqual(['id  more', 'a     3m', 'bb   120']);
    expect(table([], columns, screen(80))).toEqual(['none']);
  });

  it('puts uncut cells below their rows if their columns do not fit', () => {
    const rows = [
      { id: '1', text: 'a'.repeat(8), more: 'b'.repeat(3) },
      { id: '2', text: '-', more: '-' },
      { id: '3', text: 'c'.repeat(30), more: 'd' },
    ];
    const long = `  text ${'c'.repeat(30)}`;
    expect(table(rows, columns, screen(24))).toEqual([
      ...['id  more', ' 1  bbb', '  text aaaaaaaa', ' 2  -', ' 3  d', long],
    ]);
    expect(table(rows, columns, screen(5))).toEqual([
      ...['id', ' 1', '  text aaaaaaaa', '  more bbb', ' 2', ' 3', long, '  more d'],
    ]);
    expect(table(rows.slice(0, 2), columns, screen(24))).toEqual([
      ...['id  text      more', ' 1  aaaaaaaa  bbb', ' 2  -         -'],
    ]);
  });

  it('never has rows wider than the terminal, and escapes control characters', () => {
    const text = fc.string({ unit: 'binary', maxLength: 60 });
    const row = fc.record({ id: fc.constantFrom('1', 'x'.repeat(36)), text, more: text });
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), fc.integer({ min: 44, max: 200 }), (rows, width) => {
        for (const line of table(rows, columns, screen(width))) {
          if (!line.startsWith('  ')) expect(widthOf(line)).toBeLessThanOrEqual(width);
          expect(printable(line)).toBe(line);
        }
      }),
    );
  });
});

describe('texts', () => {
  it('show control and invisible characters as escapes', () => {
    expect(printable('a\u001b]0;x\u0007\n\u202eb\u009b')).toBe('a\\u001b]0;x\\u0007\\n\\u202eb\\u009b');
    expect(printable('Grüße, 漢字 🎉')).toBe('Grüße, 漢字 🎉');
  });

  it('are cut to terminal columns, not to characters', () => {
    expect(['abcdef', 'abcdefg', '漢字漢字'].map((text) => cut(text, 6))).toEqual(['abcdef', 'abcde…', '漢字…']);
  });

  it('wrap without loss to lines that are never wider, between words where possible', () => {
    expect(wrap('the token has expired', 12, '  ')).toEqual(['  the token', '  has', '  expired']);
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 80 }).map(printable),
        fc.integer({ min: 4, max: 40 }),
        (text, width) => {
          const lines = wrap(text, width, '  ');
          for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
          const letters = (part: string) => part.replaceAll(' ', '');
          expect(letters(lines.join(''))).toBe(letters(text));
        },
      ),
    );
  });

  it('are timestamps only in the format of the contracts', () => {
    const times = ['2026-11-20T12:00:00+01:00', '2026-11-20T11:00:00.000Z', '2026-99-20T11:00:00Z', '2026-11-20', 7];
    expect(times.map(isTimestamp)).toEqual([true, true, false, false, false]);
  });

  it('show durations and ages in one unit', () => {
    expect([0, 59.9, 60, 7199, 172_799, 172_800].map(duration)).toEqual(['0s', '59s', '1m', '1h', '47h', '2d']);
    const now = new Date('2026-11-20T12:00:00Z');
    const times = ['2026-11-20T12:57:00+01:00', '2026-11-20T12:00:00.900Z', '2026-11-20T12:05:00Z'];
    expect(times.map((time) => age(time, now))).toEqual(['3m', '0s', 'in 5m']);
    expect([0.417, 9.9999, 35.21, 99.99, 1204.4].map(milliseconds)).toEqual(['0.42', '10.0', '35.2', '100', '1,204']);
  });
});
