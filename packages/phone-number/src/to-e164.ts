import { isSupportedCountry, isValidPhoneNumber, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { numbersOfLine } from './numbers-of-line.ts';

/** Maximum length of a number in UTF-16 units, as in Google's libphonenumber. */
const maxLength = 250;
/** Punctuation between digits, as in Google's libphonenumber, without characters that begin an extension. */
const punctuation = String.raw`\-‐-―−ー/ ().[\]⁓∼`;
/** A written number, from its plus or first digit. The lookahead leaves only one way to match, so matching takes linear time. */
const writtenNumber = new RegExp(`^[${punctuation}]*(?=[+0-9])(\\+*)([${punctuation}0-9]*)$`);
const telScheme = /^tel:/i;
const globalContext = /^\+(?=[-.()]*[0-9])[-.()0-9]+$/;
const domainContext = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.?$/i;

/**
 * Converts a number in a usual spelling to E.164. Without a country code it belongs to `country` (ISO 3166 alpha-2). Adds or removes a national digit
 * according to the country's plan, such as Mexico's 1. Undefined if the number is invalid, has letters or an extension, or exceeds 250 characters.
 */
export function toE164(text: string, country: string): string | undefined {
  if (text.length > maxLength) return undefined;
  const plain = withoutSpelling(text);
  // NFKC can expand one character to up to 18.
  if (plain.length > maxLength) return undefined;
  const dialed = dialedDigits(plain);
  if (dialed === undefined) return undefined;
  const defaultCountry = isSupportedCountry(country) ? { defaultCountry: country } : {};
  const parsed = parsePhoneNumberFromString(dialed, { ...defaultCountry, extract: false });
  if (!parsed || parsed.ext) return undefined;
  return parsed.isValid() ? parsed.number : numbersOfLine(parsed.number).find((number) => isValidPhoneNumber(number));
}

/** Converts compatibility forms and digits of other scripts to ASCII, and removes invisible characters (direction marks). */
function withoutSpelling(text: string): string {
  const compatible = text.normalize('NFKC').replace(/\p{Cf}/gu, '');
  return compatible.replace(/\p{Nd}/gu, (digit) => String(digitValue(digit))).trim();
}

/** Returns a digit's value. In Unicode the ten digits of each script are consecutive, from zero; adjacent scripts are ten apart. */
function digitValue(digit: string): number {
  const point = digit.codePointAt(0)!;
  if (point <= 0x39) return point - 0x30;
  let zero = point;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return (point - zero) % 10;
}

/** Returns the digits, with the plus or the context of a `tel:` URI (RFC 3966). Undefined if the string contains anything else. */
function dialedDigits(text: string): string | undefined {
  const [number = '', ...parameters] = text.replace(telScheme, '').trim().split(';');
  const context = contextOf(parameters);
  const written = context === undefined ? null : writtenNumber.exec(number);
  if (!written) return undefined;
  const [, plus = '', digits = ''] = written;
  if (context !== '' && plus !== '') return undefined;
  return `${context || (plus && '+')}${digits.replace(/[^0-9]/g, '')}`;
}

/** Returns the digits that URI parameters prepend to a number, or "". Undefined if a parameter is neither a context nor an ISDN subaddress. */
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
