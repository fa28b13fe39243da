/** ISO 3166 reserves ZZ for private use and CLDR reads it as "unknown": the country of a zone that belongs to none. */
const unknownCountry = 'ZZ';

/** Countries that nobody lives in, and so without a zone: Bouvet Island, Heard Island and McDonald Islands. */
const zoneless = ['BV', 'HM'];

type LocaleWithZones = Intl.Locale & { getTimeZones?(): string[] | undefined };

/** By zone; and all there are. */
interface Countries {
  ofZones: Map<string, string>;
  all: Set<string>;
}

let known: Countries | undefined;

/** The country that a zone lies in, by the timezone data of this process: DE for Europe/Berlin, ZZ for UTC. */
export function countryOfZone(timezone: string): string {
  known ??= readCountries();
  const canonical = new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions().timeZone;
  return known.ofZones.get(canonical) ?? unknownCountry;
}

/** Whether ISO 3166 has a country of this code; ZZ, which it leaves to others, is none. */
export function isCountry(code: string): boolean {
  known ??= readCountries();
  return known.all.has(code);
}

/**
 * Asks the zones of every two-letter code. A code that was withdrawn (DD, SU) is rewritten to its successor by Intl
 * itself, and so left out.
 */
function readCountries(): Countries {
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
