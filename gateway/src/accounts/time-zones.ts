/** ISO 3166 reserves ZZ for private use and CLDR reads it as "unknown": the country of a zone that belongs to none. */
const unknownCountry = 'ZZ';

/** Uninhabited countries, which have no time zone: Bouvet Island, Heard Island and McDonald Islands. */
const zoneless = ['BV', 'HM'];

type LocaleWithZones = Intl.Locale & { getTimeZones?(): string[] | undefined };

/** Codes that look like a country's: AA to ZZ, in order. */
const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
const codes = letters.flatMap((first) => letters.map((second) => first + second));

/** Countries by zone, of those that were read so far: reading the zones of all takes a tenth of a second. */
const ofZones = new Map<string, string>();
const unread = codes.values();

/** Returns the country of a time zone by this process's timezone data: DE for Europe/Berlin, ZZ for UTC. */
export function countryOfZone(timezone: string): string {
  const canonical = new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions().timeZone;
  // UTC and its offsets are nowhere.
  if (canonical === 'UTC' || canonical.startsWith('Etc/')) return unknownCountry;
  while (!ofZones.has(canonical)) {
    const next = unread.next();
    if (next.done) return unknownCountry;
    for (const zone of zonesOf(next.value)) if (!ofZones.has(zone)) ofZones.set(zone, next.value);
  }
  return ofZones.get(canonical)!;
}

/** Returns whether ISO 3166 assigns this code to a country; ZZ is assigned to none. */
export function isCountry(code: string): boolean {
  return zoneless.includes(code) || (codes.includes(code) && zonesOf(code).length > 0);
}

/** Returns the zones of a code; none of one that Intl rewrites to its successor, as it does with a withdrawn one (DD, SU). */
function zonesOf(code: string): string[] {
  const locale = new Intl.Locale(`und-${code}`) as LocaleWithZones;
  return locale.region === code ? (locale.getTimeZones?.() ?? []) : [];
}

let names: Map<string, string> | undefined;

/**
 * Returns a timezone's name in its listed case, Europe/Berlin for europe/berlin; an unlisted name, such as an alias, as
 * given.
 */
export function timezoneName(given: string): string {
  names ??= new Map([...Intl.supportedValuesOf('timeZone'), 'UTC'].map((name) => [name.toLowerCase(), name]));
  return names.get(given.toLowerCase()) ?? given;
}
