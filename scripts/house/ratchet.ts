/** Numbers by a name, such as the lines of a function by its file and name. */
export type Numbers = Record<string, number>;

/** A number that breaks a rule, and where. */
export interface Exception {
  /** Stays as long as the thing does: no line number. */
  name: string;
  number: number;
  /** File and line from 1, as `file:line`. */
  where: string;
  /** Says what is wrong and what would be right. */
  sentence: string;
}

/**
 * Returns a sentence for each exception above its allowed number, and for each allowed one that is lower now or gone:
 * a list of exceptions only ever gets shorter.
 */
export function ratchetFaultsOf(list: string, exceptions: Exception[], allowed: Numbers): string[] {
  const found = new Map(exceptions.map((exception) => [exception.name, exception]));
  const above = exceptions.flatMap(({ name, number, where, sentence }) => {
    if (number <= (allowed[name] ?? 0)) return [];
    const known = allowed[name] === undefined ? '' : ` (allowed until mended: ${allowed[name]})`;
    return [`${where}: ${sentence}${known}`];
  });
  const stale = Object.entries(allowed).flatMap(([name, number]) => {
    const now = found.get(name)?.number ?? 0;
    if (now >= number) return [];
    return [
      `scripts/house/allowed.json: ${list} allows ${name} ${number}, it has ${now}; run npm run house -- --lower`,
    ];
  });
  return [...above, ...stale];
}

/**
 * Returns the allowed numbers, none higher than what is found now, without those of which nothing is left. A name that
 * begins with a file that was renamed takes its number along; `renames` has new names by old ones.
 */
export function lowered(exceptions: Exception[], allowed: Numbers, renames: ReadonlyMap<string, string>): Numbers {
  const now = new Map(exceptions.map(({ name, number }) => [name, number]));
  const entries = Object.entries(allowed).flatMap(([name, number]): [string, number][] => {
    const [file = ''] = name.split(' ', 1);
    const current = (renames.get(file) ?? file) + name.slice(file.length);
    const least = Math.min(number, now.get(current) ?? 0);
    return least > 0 ? [[current, least]] : [];
  });
  return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)));
}
