import { isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/max';

/** UTF-16 units of the longest text that is looked at, as in Google's libphonenumber. */
const maxLength = 250;
/** Between the digits of a number, as Google's libphonenumber has it, without what begins an extension. */
const punctuation = String.raw`\-‐-―−ー/ ().[\]⁓∼`;
/** A number as it is written, from its plus or its first digit. The lookahead leaves one way to match: the time is linear. */
const writtenNumber = new RegExp(`^[${punctuation}]*(?=[+0-9])(\\+*)([${punctuation}0-9]*)$`);
const telScheme = /^tel:/i;
const globalContext = /^\+(?=[-.()]*[0-9])[-.()0-9]+$/;
const domainContext = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.?$/i;

/**
 * Returns the E.164 form of a number as people and systems write it, read as one of `country` (ISO 3166 alpha-2) where it names no
 * country; undefined where it is not a valid number, has letters or an extension, or is longer than 250 characters.
 */
export function toE164(text: string, country: string): string | undefined {
  if (text.length > maxLength) return undefined;
  const plain = withoutSpelling(text);
  // One character can stand for up to 18 others.
  if (plain.length > maxLength) return undefined;
  const dialled = dialledDigits(plain);
  if (dialled === undefined) return undefined;
  const defaultCountry = isSupportedCountry(country) ? { defaultCountry: country } : {};
  const parsed = parsePhoneNumberFromString(dialled, { ...defaultCountry, extract: false });
  return parsed?.isValid() && !parsed.ext ? parsed.number : undefined;
}

/** The text in ASCII as far as it can be: compatibility forms, invisible characters (direction marks) and digits of other scripts. */
function withoutSpelling(text: string): string {
  const compatible = text.normalize('NFKC').replace(/\p{Cf}/gu, '');
  return compatible.replace(/\p{Nd}/gu, (digit) => String(digitValue(digit))).trim();
}

/** Unicode has the ten digits of every script in a row, from zero; where rows adjoin, each begins ten after the one before. */
function digitValue(digit: string): number {
  const point = digit.codePointAt(0)!;
  if (point <= 0x39) return point - 0x30;
  let zero = point;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return (point - zero) % 10;
}

/** The plus, where there is one, and the digits; of a `tel:` URI (RFC 3966) with those of its context. Undefined where there is more in it. */
function dialledDigits(text: string): string | undefined {
  const [number = '', ...parameters] = text.replace(telScheme, '').trim().split(';');
  const context = contextOf(parameters);
  const written = context === undefined ? null : writtenNumber.exec(number);
  if (!written) return undefined;
  const [, plus = '', digits = ''] = written;
  if (context !== '' && plus !== '') return undefined;
  return `${context || (plus && '+')}${digits.replace(/[^0-9]/g, '')}`;
}

/** The digits that parameters put in front of a number, "" where none do; undefined where one of them is no context or ISDN subaddress. */
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
