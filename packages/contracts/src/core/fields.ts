import { z } from 'zod';

/** Returns the number of Unicode code points in a string. Every length limit of the API counts code points. */
export function codePoints(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit >= 0xd800 && unit <= 0xdbff && index + 1 < text.length) {
      const next = text.charCodeAt(index + 1);
      if (next >= 0xdc00 && next <= 0xdfff) {
        count--;
        index++;
      }
    }
  }
  return count;
}

/** Returns the first `most` Unicode code points of a string; never splits a surrogate pair. */
export function firstCodePoints(text: string, most: number): string {
  return text.length <= most ? text : [...text.slice(0, 2 * most)].slice(0, most).join('');
}

/** A string of `min` (default 0) to `max` Unicode code points. Later rules do not run if the length is wrong. */
export function text(max: number, min = 0) {
  const bounds = min === 0 ? `at most ${max} characters` : `${min} to ${max} characters`;
  return z
    .string()
    .refine((value) => (value.length <= max && value.length >= min * 2) || inBounds(codePoints(value)), {
      error: `must be a string of ${bounds}`,
      abort: true,
    })
    .meta({ minLength: min, maxLength: max });
  function inBounds(length: number): boolean {
    return length >= min && length <= max;
  }
}

/**
 * A field in the body of a PATCH that null clears. Null becomes `empty`, the value of a new resource without the field. Not for a field
 * that must have a value.
 */
export function clearable<Schema extends z.ZodType>(schema: Schema, empty: NoInfer<z.output<Schema>>) {
  return schema
    .nullable()
    .transform((value) => (value === null ? empty : value) as z.output<Schema>)
    .optional();
}

/** A resource id in UUID form: any version, in upper or lower case. */
export const uuid = z.guid({ error: 'must be an id in UUID form' }).toLowerCase();

/** Maximum integer id: the maximum of PostgreSQL's `integer`. */
export const maxIntegerId = 2_147_483_647;

/** A resource id that is an integer from 1. */
export const integerId = z.int().min(1).max(maxIntegerId).meta({ description: 'An integer id.' });

const earliest = Date.UTC(1900, 0, 1);
const latest = Date.UTC(2200, 0, 1);
const datetimeWithOffset =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}:\d{2})(:\d{2})?(?:\.(\d{1,9}))?(?:Z|([+-]\d{2})(?::?(\d{2}))?)$/i;
/** Maximum length of an instant's string, in characters. */
const maxInstantLength = 40;
const instantRule =
  'must be an ISO 8601 date-time with an offset, such as 2026-11-20T09:00:00+01:00, in the years 1900 to 2199';

/** Parses an ISO 8601 date-time with an offset. Returns undefined for any other string, and outside the years 1900 to 2199. */
export function parseInstant(value: string): Date | undefined {
  const parts = value.length > maxInstantLength ? null : datetimeWithOffset.exec(value);
  if (!parts) return undefined;
  const [, year, month, day, time, seconds, fraction, offsetHours, offsetMinutes = '00'] = parts;
  if (fraction !== undefined && seconds === undefined) return undefined;
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined;
  const offset = offsetHours === undefined ? 'Z' : `${offsetHours}:${offsetMinutes}`;
  const whole = Date.parse(`${year}-${month}-${day}T${time}${seconds ?? ''}${offset}`);
  // Fractions of a millisecond round up, so that a start just after the minute does not count as the minute.
  const milliseconds = whole + Math.ceil(Number(`0.${fraction ?? 0}`) * 1000);
  return milliseconds >= earliest && milliseconds <= latest ? new Date(milliseconds) : undefined;
}

/** An instant: ISO 8601 with any offset, years 1900 to 2199. Parsed to a Date. */
export const instant = z
  .string({ error: instantRule })
  .refine((value) => parseInstant(value) !== undefined, { error: instantRule, abort: true })
  .transform((value) => parseInstant(value)!)
  .meta({ format: 'date-time' });

/** A timestamp in a response: ISO 8601 in the account's timezone, with its offset at that instant. */
export const timestamp = z.string().meta({
  id: 'Timestamp',
  description: "ISO 8601 in the account's timezone, with its offset at that instant.",
  format: 'date-time',
  examples: ['2026-11-20T09:00:00+01:00'],
});

/**
 * An address with a dot in its domain. It rejects characters that RFC 5321 allows only in quotes, since people paste brackets, a display
 * name or `mailto:` with an address.
 */
const emailAddress = /^[^\s@\p{C}()<>[\]:;,\\"]+@[^\s@.\p{C}()<>[\]:;,\\"]+(\.[^\s@.\p{C}()<>[\]:;,\\"]+)+$/u;

/** An email address of at most 254 characters, trimmed and lower-cased, since addresses identify people in the API. */
export const email = z
  .string()
  .trim()
  .toLowerCase()
  .max(254, { error: 'must be an email address of at most 254 characters', abort: true })
  .refine((value) => emailAddress.test(value), { error: 'must be an email address alone, such as ada@example.com' })
  .meta({ format: 'email' });

/** Zone names that `Intl` accepts but IANA does not have, such as PST and IST. Temporal rejects them. */
const intlOnlyZones = /^(?:AC|AE|AG|AR|AS|BE|BS|CA|CN|CS|CT|EA|EC|IE|IS|JS|MI|NE|NS|PL|PN|PR|PS|SS|VS)T$/i;

/** Returns whether the name is an IANA timezone that this process's tzdata has. */
export function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return !/^[+-]/.test(name) && !intlOnlyZones.test(name);
  } catch {
    return false;
  }
}

/** An IANA timezone name. */
export const timezone = z
  .string()
  .refine(isTimezone, { error: 'must be an IANA timezone, such as Europe/Berlin' })
  .meta({ examples: ['Europe/Berlin'] });

/**
 * The codes in list one of ISO 4217, published on 2026-01-01, without XTS (tests) and XXX (no currency). `Intl` cannot replace the list:
 * it lacks funds and metals, and has withdrawn currencies.
 */
const currencies = new Set(
  `
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CLF CLP CNY COP COU
    CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD
    JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO
    NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT
    TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT
    XSU XUA YER ZAR ZMW ZWG
  `
    .trim()
    .split(/\s+/),
);

/** The ISO 4217 code of a currency. */
export const currency = z
  .string()
  .refine((value) => currencies.has(value), { error: 'must be an ISO 4217 currency code, such as EUR' })
  .meta({ examples: ['EUR'] });
