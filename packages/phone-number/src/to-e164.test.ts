import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { toE164 } from './to-e164.ts';

const london = '+442079460958';
const berlin = '+4930901820';

describe('a phone number', () => {
  it.each([
    ['with its country code', '+44 20 7946 0958'],
    ['with a full-width plus', '＋44 20 7946 0958'],
    ['with a small plus', '﹢44 20 7946 0958'],
    ['in full-width digits', '＋４４　２０　７９４６　０９５８'],
    ['with the country code in brackets', '(+44) 20 7946 0958'],
    ['with full-width brackets', '（＋４４）２０－７９４６－０９５８'],
    ['as a tel: URI', 'tel:+44-20-7946-0958'],
    ['as a tel: URI in capitals with a space', 'TEL: +44 20 7946 0958'],
    ['as a tel: URI with its context', 'tel:20-7946-0958;phone-context=+44'],
    ['with an ISDN subaddress', 'tel:+44-20-7946-0958;isub=12345'],
    ['with no-break spaces', '+44\u{a0}20\u{202f}7946\u{2007}0958'],
    ['between direction marks', '\u{202a}+44 20 7946 0958\u{202c}'],
    ['after a left-to-right mark', '\u{200e}+44 20 7946 0958'],
    ['between isolates', '\u{2066}+44 20 7946 0958\u{2069}'],
    ['after a byte order mark', '\u{feff}+442079460958'],
    ['with zero-width spaces and soft hyphens', '+44\u{200b}20\u{ad}7946\u{2060}0958'],
    ['in Arabic-Indic digits', '+٤٤٢٠٧٩٤٦٠٩٥٨'],
    ['in Devanagari digits', '+४४२०७९४६०९५८'],
    ['with the trunk prefix in brackets', '+44 (0) 20 7946 0958'],
    ['with two pluses', '++44 20 7946 0958'],
    ['with the international prefix of the country', '00 44 20 7946 0958'],
    ['between spaces', '  +44 20 7946 0958\n'],
    ['with a katakana dash', '+44ー20ー7946ー0958'],
  ])('%s is normalized, whatever the default country', (_, text) => {
    expect(toE164(text, 'DE')).toBe(london);
  });

  it.each([
    ['with the trunk prefix', '030 901820'],
    ['with a slash', '030/901820'],
    ['in brackets', '(030) 90 18 20'],
    ['in square brackets', '[030] 901820'],
    ['with an en dash', '030–901820'],
    ['with a no-break hyphen', '030\u{2011}901820'],
    ['with dots', '030.90.18.20'],
    ['in full-width digits', '０３０ ９０１８２０'],
    ['as a tel: URI of a place', 'tel:030-901820;phone-context=example.com'],
    ['with the country code', '+49 (0)30 901820'],
  ])('without a country code, %s, belongs to the default country', (_, text) => {
    expect(toE164(text, 'DE')).toBe(berlin);
  });

  it.each([
    ['nothing', ''],
    ['spaces and marks alone', ' \u{200e} '],
    ['a plus alone', '+'],
    ['too few digits', '12'],
    ['too many digits', '+44 20 7946 0958 0958 0958'],
    ['a country that there is not', '+999 20 7946 0958'],
    ['a number that its country does not have', '+44 12'],
    ['letters', 'abc'],
    ['letters before a number', 'abc030901820'],
    ['a sentence', 'call me +4930901820 now'],
    ['letters for digits', '1-800-FLOWERS'],
    ['an extension ext.', '+4930901820 ext. 5'],
    ['an extension x', '+4930901820x5'],
    ['an extension #', '+4930901820#5'],
    ['an extension after a comma', '+4930901820,,5'],
    ['an extension after a tilde', '+4930901820~5'],
    ['an extension of a tel: URI', 'tel:+4930901820;ext=5'],
    ['two numbers', '030 901820, 030 901821'],
    ['a plus in the middle', '030+901820'],
    ['another country in its context', 'tel:+4930901820;phone-context=+44'],
    ['two contexts', 'tel:901820;phone-context=+4930;phone-context=+44'],
    ['an unknown parameter', 'tel:+4930901820;foo=bar'],
    ['an invalid context', 'tel:030901820;phone-context=+'],
    ['a fraction', '030 901820½'],
    ['a line break inside', '030\n901820'],
    ['a string that is too long after normalization', `+4930901820${'\u{2026}'.repeat(200)}`],
    ['a string that is too long', `+${' '.repeat(300)}4930901820`],
  ])('is rejected with %s', (_, text) => {
    expect(toE164(text, 'DE')).toBeUndefined();
  });

  it('needs its country code if the default country is unknown', () => {
    expect(toE164('030 901820', 'ZZ')).toBeUndefined();
    expect(toE164('＋49 30 901820', 'ZZ')).toBe(berlin);
  });

  it('stays the same in E.164, and no string throws', () => {
    const characters = fc.constantFrom(
      ...'0123456789+()-./ ;=～＋０９tel:extphone-context\u{200e}\u{a0}½٣',
      '\u{1d7d8}',
    );
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(characters).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(texts, fc.constantFrom('DE', 'GB', 'US', 'JP', ''), (text, country) => {
        const number = toE164(text, country);
        if (number !== undefined) expect(toE164(number, 'FR')).toBe(number);
      }),
      { numRuns: 2_000 },
    );
  });
});
