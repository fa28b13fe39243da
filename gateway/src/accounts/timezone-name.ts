let names: Map<string, string> | undefined;

/**
 * Returns a timezone's name in its listed case, Europe/Berlin for europe/berlin; an unlisted name, such as an alias, as
 * given.
 */
export function timezoneName(given: string): string {
  names ??= new Map([...Intl.supportedValuesOf('timeZone'), 'UTC'].map((name) => [name.toLowerCase(), name]));
  return names.get(given.toLowerCase()) ?? given;
}
