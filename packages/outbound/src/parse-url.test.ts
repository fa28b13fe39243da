import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseUrl } from './guarded-connector.ts';

/** Letters that make the parser take 10 ms for a host of 2,000. */
const slowToParse = String.fromCodePoint(...Array.from({ length: 1_030 }, (_none, index) => 0x4e00 + index * 7));

describe('a URL', () => {
  it.each([
    'https://example.com/',
    `https://${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}:65535/x`,
    `https://example.com/${'x'.repeat(2_000)}`,
    `https://example.com?${'x'.repeat(2_000)}`,
    `https://example.com#${'x'.repeat(2_000)}`,
    `https:\\\\example.com\\${'x'.repeat(2_000)}`,
    'https://bücher.example/',
    `https://${'a'.repeat(260)}`,
  ])('is parsed if its host may be a name: %#', (text) => {
    expect(parseUrl(text)?.href).toBe(URL.parse(text)!.href);
  });

  it.each(['https://', 'ftp://', 'HTTPS:', 'https:/\\/', ' \u0001https://', 'ht\ntps:\t//', 'https://user:secret@'])(
    'with a host too long for a name is not parsed: %j',
    (start) => {
      expect(parseUrl(`${start}${slowToParse}.de/`)).toBeNull();
      expect(parseUrl(`${start}${slowToParse.slice(0, 100)}\n${slowToParse.slice(100)}`)).toBeNull();
    },
  );

  it('that is relative is resolved against its base, unless it names a host too long for a name', () => {
    const base = 'https://example.com/a/b';
    expect(parseUrl('c d', base)?.href).toBe('https://example.com/a/c%20d');
    expect(parseUrl('x'.repeat(2_000), base)?.pathname).toHaveLength(2_003);
    expect(parseUrl(`/${'x'.repeat(2_000)}`, base)?.pathname).toHaveLength(2_001);
    for (const slashes of ['//', '\\/', '\t//', '///']) expect(parseUrl(slashes + slowToParse, base)).toBeNull();
  });

  it('is never parsed with a longer host, however it is written', () => {
    const words = 'http https : / \\ // @ . ? # a [ ] %41'.split(' ');
    const pieces = [...words, ' ', '\t', '\n', '\u0000', 'a'.repeat(261)];
    const text = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, fc.constantFrom(undefined, 'https://example.com/a', 'http://example.com'), (each, base) => {
        const read = URL.parse(each, base);
        if (read && /^https?:$/.test(read.protocol) && read.host.length > 260) expect(parseUrl(each, base)).toBeNull();
      }),
      { numRuns: 20_000 },
    );
  });
});
