/** Throws TypeError for an option that does not exist: a mistyped one would have no effect, and nobody would see it. */
export function checkOptions(of: string, given: object, known: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new TypeError(`${of} takes ${known.join(', ')}, not ${unknown}`);
}
