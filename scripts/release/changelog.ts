const unreleased = '## Unreleased';

/** Returns what a changelog says under Unreleased, without empty lines around it; empty if nothing. Throws an Error if it has no such section. */
export function unreleasedIn(changelog: string): string {
  const [, section] = partsOf(changelog);
  return section.trim();
}

/**
 * Returns the changelog with everything under Unreleased moved below a release, dated `YYYY-MM-DD`. Throws an Error if there is nothing, or no
 * such section.
 */
export function releasedChangelog(changelog: string, version: string, date: string): string {
  const [before, section, after] = partsOf(changelog);
  if (section.trim() === '') throw new Error('nothing is under Unreleased');
  return `${before}${unreleased}\n\n## ${version} (${date})\n\n${section.trim()}\n${after === '' ? '' : `\n${after}`}`;
}

/** Splits at Unreleased: what is before its heading, its section, and the releases behind it. */
function partsOf(changelog: string): [string, string, string] {
  const lines = changelog.split('\n');
  const start = lines.indexOf(unreleased);
  if (start < 0) throw new Error(`"${unreleased}" is missing`);
  const next = lines.findIndex((line, index) => index > start && line.startsWith('## '));
  const end = next < 0 ? lines.length : next;
  const before = lines.slice(0, start).map((line) => `${line}\n`);
  return [before.join(''), lines.slice(start + 1, end).join('\n'), lines.slice(end).join('\n')];
}
