import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import JSZip from 'jszip';
import { compare, satisfies, valid } from 'semver';
import { type Finding, type LockedPackage, severityOf } from './finding.ts';

/** The fields of https://ossf.github.io/osv-schema that this check reads. */
interface OsvRecord {
  id: string;
  aliases?: string[];
  withdrawn?: string;
  database_specific?: { severity?: string };
  affected?: { package?: { ecosystem: string; name: string }; ranges?: OsvRange[]; versions?: string[] }[];
}
interface OsvRange {
  type: string;
  events: Partial<Record<'introduced' | 'fixed' | 'last_affected', string>>[];
}

/**
 * Yields the JSON records of an OSV export: a folder of JSON files, or a .zip of them, such as the export of the npm ecosystem.
 * @throws Error when the path does not exist
 */
async function* recordsAt(path: string): AsyncGenerator<string> {
  if (statSync(path).isDirectory()) {
    for (const file of globSync('**/*.json', { cwd: path })) yield readFileSync(join(path, file), 'utf8');
    return;
  }
  const { files } = await JSZip.loadAsync(readFileSync(path));
  for (const file of Object.values(files)) if (file.name.endsWith('.json')) yield await file.async('string');
}

/**
 * Returns an OSV export's advisories about locked packages. An advisory about a malicious package is critical.
 * @throws Error when the export cannot be read, or has no records
 */
export async function osvAdvisories(path: string, locked: Iterable<LockedPackage>): Promise<Finding[]> {
  const byName = Map.groupBy(locked, ({ name }) => name);
  const findings: Finding[] = [];
  let records = 0;
  for await (const text of recordsAt(path)) {
    const record = JSON.parse(text) as OsvRecord;
    records += 1;
    if (record.withdrawn) continue;
    const severity = record.id.startsWith('MAL-') ? 'critical' : severityOf(record.database_specific?.severity);
    for (const { package: subject, ranges = [], versions = [] } of record.affected ?? []) {
      if (subject?.ecosystem !== 'npm') continue;
      for (const found of byName.get(subject.name) ?? []) {
        const spans = ranges.filter(({ type }) => type === 'SEMVER').flatMap(spansOf);
        const span = spans.find(({ range }) => satisfies(found.version, range, { includePrerelease: true }));
        if (span || versions.includes(found.version))
          findings.push({ ...found, advisory: record.id, severity, fixedIn: span?.fixedIn });
      }
    }
  }
  if (records === 0) throw new Error(`${path} has no JSON file`);
  return findings;
}

/** Returns the version spans that a range affects. Each begins with the version that introduced the fault. */
function spansOf({ events }: OsvRange): { range: string; fixedIn: string | undefined }[] {
  const points = events
    .flatMap((event) =>
      Object.entries(event).map(([kind, version]) => ({ kind, version: version === '0' ? '0.0.0-0' : version })),
    )
    .filter(({ version }) => valid(version) !== null)
    .sort((one, other) => compare(one.version, other.version));
  return points.flatMap(({ kind, version }, index) => {
    if (kind !== 'introduced') return [];
    const end = points[index + 1];
    if (end === undefined || end.kind === 'introduced') return [{ range: `>=${version}`, fixedIn: undefined }];
    const isFixed = end.kind === 'fixed';
    return [
      { range: `>=${version} ${isFixed ? '<' : '<='}${end.version}`, fixedIn: isFixed ? end.version : undefined },
    ];
  });
}
