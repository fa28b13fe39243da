import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { numbersOfLine } from './numbers-of-line.ts';
import { toE164 } from './to-e164.ts';

describe('the numbers of a line', () => {
  it.each([
    ['Mexico with and without 1', '+5215512345699', '+525512345699'],
    ['Argentina with and without 9', '+5491123456789', '+541123456789'],
    ['Argentina outside of Buenos Aires', '+5492214123456', '+542214123456'],
    ['Brazil with and without the ninth digit', '+5511987654321', '+551187654321'],
    ['Brazil in the area 99', '+5599987654321', '+559987654321'],
  ])('of %s are two, with the given one first', (_what, long, short) => {
    expect(numbersOfLine(long)).toEqual([long, short]);
    expect(numbersOfLine(short)).toEqual([short, long]);
  });

  it.each([
    ['a German one', '+4930901820'],
    ['one of the USA', '+15215512345'],
    ['a landline of Brazil', '+551132654321'],
    ['a mobile number of Brazil that would be a landline without its 9', '+5511932654321'],
    ['one of Mexico that is too short', '+52155123456'],
    ['no number', 'DE.1349120865530274'],
    ['nothing', ''],
  ])('are only the number itself for %s', (_what, number) => {
    expect(numbersOfLine(number)).toEqual([number]);
  });

  it('are the same two, whichever is given', () => {
    const numbers = fc.stringMatching(/^\+5[245]\d{8,12}$/);
    fc.assert(
      fc.property(numbers, (number) => {
        for (const other of numbersOfLine(number))
          expect(numbersOfLine(other).toSorted()).toEqual(numbersOfLine(number).toSorted());
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('a number with a national digit that its plan does not have', () => {
  it.each([
    ['Mexico’s 1', '+52 1 55 1234 5699', '+525512345699'],
    ['a mobile number of Brazil without the ninth digit', '+55 11 8765-4321', '+5511987654321'],
  ])('%s becomes the valid number of its line', (_what, text, number) => {
    expect(toE164(text, 'DE')).toBe(number);
  });

  it('of Argentina is kept as written, since both forms are valid', () => {
    expect(toE164('+54 9 11 2345 6789', 'DE')).toBe('+5491123456789');
    expect(toE164('+54 11 2345 6789', 'DE')).toBe('+541123456789');
  });

  it('belongs to the default country without a country code', () => {
    expect(toE164('1 55 1234 5699', 'MX')).toBe('+525512345699');
    expect(toE164('(11) 8765-4321', 'BR')).toBe('+5511987654321');
  });
});
