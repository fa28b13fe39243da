const unreleased = '## Unreleased';

/** Returns the trimmed section Unreleased of a changelog; it may be empty. Throws an Error if the changelog has no such section. */
export function unreleasedIn(changelog: string): string {
  const [, section] = partsOf(changelog);
  return section.trim();
}

/**
 * Returns the changelog with the content of Unreleased moved into a release, dated `YYYY-MM-DD`. Throws an Error if the section is empty or
 * missing.
 */
export function releasedChangelog(changelog: string, version: string, date: string): string {
  const [before, section, after] = partsOf(changelog);
  if (section.trim() === '') throw new Error('the section Unreleased is empty');
  return `${before}${unreleased}\n\n## ${version} (${date})\n\n${section.trim()}\n${after === '' ? '' : `\n${after}`}`;
}

/** Splits a changelog into the text before Unreleased, the section Unreleased, and the releases after it. */
function partsOf(changelog: string): [string, string, string] {
  const lines = changelog.split('\n');
  const start = lines.indexOf(unreleased);
  if (start < 0) throw new Error(`the heading "${unreleased}" is missing`);
  const next = lines.findIndex((line, index) => index > start && line.startsWith('## '));
  const end = next < 0 ? lines.length : next;
  const before = lines.slice(0, start).map((line) => `${line}\n`);
  return [before.join(''), lines.slice(start + 1, end).join('\n'), lines.slice(end).join('\n')];
}
