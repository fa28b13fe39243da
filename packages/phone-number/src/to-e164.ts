import { isSupportedCountry, isValidPhoneNumber, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { numbersOfLine } from './numbers-of-line.ts';

/** Maximum length of a text in UTF-16 units, as in Google's libphonenumber. */
const maxLength = 250;
/** Punctuation between the digits of a number, as in Google's libphonenumber, without the characters that begin an extension. */
const punctuation = String.raw`\-‐-―−ー/ ().[\]⁓∼`;
/** Written number, from its plus or its first digit. The lookahead leaves one way to match, so it takes linear time. */
const writtenNumber = new RegExp(`^[${punctuation}]*(?=[+0-9])(\\+*)([${punctuation}0-9]*)$`);
const telScheme = /^tel:/i;
const globalContext = /^\+(?=[-.()]*[0-9])[-.()0-9]+$/;
const domainContext = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.?$/i;

/**
 * Returns the E.164 form of a number as people and systems write it, read as one of `country` (ISO 3166 alpha-2) if it has no
 * country code. A national digit that the country's plan does not have, such as Mexico's 1, is taken off or put in. Undefined if it is
 * not a valid number, has letters or an extension, or is longer than 250 characters.
 */
export function toE164(text: string, country: string): string | undefined {
  if (text.length > maxLength) return undefined;
  const plain = withoutSpelling(text);
  // One character can normalise to up to 18 others.
  if (plain.length > maxLength) return undefined;
  const dialled = dialledDigits(plain);
  if (dialled === undefined) return undefined;
  const defaultCountry = isSupportedCountry(country) ? { defaultCountry: country } : {};
  const parsed = parsePhoneNumberFromString(dialled, { ...defaultCountry, extract: false });
  if (!parsed || parsed.ext) return undefined;
  return parsed.isValid() ? parsed.number : numbersOfLine(parsed.number).find((number) => isValidPhoneNumber(number));
}

/** Converts compatibility forms and digits of other scripts to ASCII, and removes invisible characters (direction marks). */
function withoutSpelling(text: string): string {
  const compatible = text.normalize('NFKC').replace(/\p{Cf}/gu, '');
  return compatible.replace(/\p{Nd}/gu, (digit) => String(digitValue(digit))).trim();
}

/** Returns a digit's value: Unicode has the ten digits of every script in a row, from zero; adjacent rows begin ten apart. */
function digitValue(digit: string): number {
  const point = digit.codePointAt(0)!;
  if (point <= 0x39) return point - 0x30;
  let zero = point;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return (point - zero) % 10;
}

/** Returns the plus, if any, and the digits, of a `tel:` URI (RFC 3966) with those of its context; undefined if there is anything else. */
function dialledDigits(text: string): string | undefined {
  const [number = '', ...parameters] = text.replace(telScheme, '').trim().split(';');
  const context = contextOf(parameters);
  const written = context === undefined ? null : writtenNumber.exec(number);
  if (!written) return undefined;
  const [, plus = '', digits = ''] = written;
  if (context !== '' && plus !== '') return undefined;
  return `${context || (plus && '+')}${digits.replace(/[^0-9]/g, '')}`;
}

/** Returns the digits that parameters put in front of a number, or ""; undefined if one is neither a context nor an ISDN subaddress. */
function contextOf(parameters: string[]): string | undefined {
  let context = '';
  for (const parameter of parameters) {
    const [name, value = ''] = parameter.split('=', 2);
    if (name === 'isub') continue;
    if (name !== 'phone-context' || context !== '') return undefined;
    if (globalContext.test(value)) context = value.replace(/[^+0-9]/g, '');
    else if (!domainContext.test(value)) return undefined;
  }
  return context;
}
