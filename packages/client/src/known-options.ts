/** Throws TypeError for an unknown option, since a mistyped option would silently have no effect. */
export function checkOptions(of: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new TypeError(`${of} takes ${known.join(', ')}, not ${unknown}`);
}
