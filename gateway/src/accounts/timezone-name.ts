let names: Map<string, string> | undefined;

/**
 * A timezone's name in the case that it is listed in, Europe/Berlin for europe/berlin; a name that is not listed, an
 * alias say, is kept as it was given.
 */
export function timezoneName(given: string): string {
  names ??= new Map([...Intl.supportedValuesOf('timeZone'), 'UTC'].map((name) => [name.toLowerCase(), name]));
  return names.get(given.toLowerCase()) ?? given;
}
