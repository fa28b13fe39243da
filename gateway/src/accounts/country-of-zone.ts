/** ISO 3166 reserves ZZ for private use and CLDR reads it as "unknown": the country of a zone that belongs to none. */
const unknownCountry = 'ZZ';

/** Uninhabited countries, which have no time zone: Bouvet Island, Heard Island and McDonald Islands. */
const zoneless = ['BV', 'HM'];

type LocaleWithZones = Intl.Locale & { getTimeZones?(): string[] | undefined };

let known: ReturnType<typeof readCountries> | undefined;

/** Returns the country of a time zone by this process's timezone data: DE for Europe/Berlin, ZZ for UTC. */
export function countryOfZone(timezone: string): string {
  known ??= readCountries();
  const canonical = new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions().timeZone;
  return known.ofZones.get(canonical) ?? unknownCountry;
}

/** Returns whether ISO 3166 assigns this code to a country; ZZ is assigned to none. */
export function isCountry(code: string): boolean {
  known ??= readCountries();
  return known.all.has(code);
}

/**
 * Returns the countries by zone, and the set of all: those of every two-letter code. Intl rewrites a withdrawn code (DD,
 * SU) to its successor, so it is left out.
 */
function readCountries() {
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  const ofZones = new Map<string, string>();
  const all = new Set(zoneless);
  for (const code of letters.flatMap((first) => letters.map((second) => first + second))) {
    const locale = new Intl.Locale(`und-${code}`) as LocaleWithZones;
    if (locale.region !== code) continue;
    for (const zone of locale.getTimeZones?.() ?? []) {
      all.add(code);
      if (!ofZones.has(zone)) ofZones.set(zone, code);
    }
  }
  return { ofZones, all };
}
