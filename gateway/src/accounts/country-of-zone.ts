/** ISO 3166 reserves ZZ for private use and CLDR reads it as "unknown": the country of a zone that belongs to none. */
const unknownCountry = 'ZZ';

type LocaleWithZones = Intl.Locale & { getTimeZones?(): string[] | undefined };

let countries: Map<string, string> | undefined;

/** The country that a zone lies in, by the timezone data of this process: DE for Europe/Berlin, ZZ for UTC. */
export function countryOfZone(timezone: string): string {
  countries ??= readCountries();
  const canonical = new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions().timeZone;
  return countries.get(canonical) ?? unknownCountry;
}

/**
 * Asks the zones of every two-letter code. A code that was withdrawn (DD, SU) is rewritten to its successor by Intl
 * itself, and so left out.
 */
function readCountries(): Map<string, string> {
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  const found = new Map<string, string>();
  for (const code of letters.flatMap((first) => letters.map((second) => first + second))) {
    const locale = new Intl.Locale(`und-${code}`) as LocaleWithZones;
    if (locale.region !== code) continue;
    for (const zone of locale.getTimeZones?.() ?? []) if (!found.has(zone)) found.set(zone, code);
  }
  return found;
}
