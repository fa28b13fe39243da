/** The country of a zone without one. ISO 3166 reserves ZZ for private use, and CLDR defines it as "unknown". */
const unknownCountry = 'ZZ';

/** Uninhabited countries without a time zone: Bouvet Island, Heard Island and McDonald Islands. */
const zoneless = ['BV', 'HM'];

type LocaleWithZones = Intl.Locale & { getTimeZones?(): string[] | undefined };

/** All two-letter codes, AA to ZZ, in order. */
const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
const codes = letters.flatMap((first) => letters.map((second) => first + second));

/** Countries by zone, filled on demand, because reading the zones of all countries takes 100 ms. */
const countryByZone = new Map<string, string>();
const unreadCodes = codes.values();

/** Returns the country of a time zone by this process's timezone data: DE for Europe/Berlin, ZZ for UTC. */
export function countryOfZone(timezone: string): string {
  const canonical = new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions().timeZone;
  // UTC and fixed offsets belong to no country.
  if (canonical === 'UTC' || canonical.startsWith('Etc/')) return unknownCountry;
  while (!countryByZone.has(canonical)) {
    const next = unreadCodes.next();
    if (next.done) return unknownCountry;
    for (const zone of zonesOf(next.value)) if (!countryByZone.has(zone)) countryByZone.set(zone, next.value);
  }
  return countryByZone.get(canonical)!;
}

/** Returns whether ISO 3166 assigns this code to a country. ZZ is not assigned. */
export function isCountry(code: string): boolean {
  return zoneless.includes(code) || (codes.includes(code) && zonesOf(code).length > 0);
}

/** Returns the zones of a code. A withdrawn code (DD, SU), which Intl rewrites to its successor, has none. */
function zonesOf(code: string): string[] {
  const locale = new Intl.Locale(`und-${code}`) as LocaleWithZones;
  return locale.region === code ? (locale.getTimeZones?.() ?? []) : [];
}

let names: Map<string, string> | undefined;

/**
 * Returns a timezone's name in its listed case: Europe/Berlin for europe/berlin. Returns an unlisted name, such as an
 * alias, unchanged.
 */
export function timezoneName(given: string): string {
  names ??= new Map([...Intl.supportedValuesOf('timeZone'), 'UTC'].map((name) => [name.toLowerCase(), name]));
  return names.get(given.toLowerCase()) ?? given;
}
