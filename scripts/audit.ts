import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Finding, isSerious, lockedPackages } from './audit/finding.ts';
import { osvAdvisories } from './audit/osv-export.ts';
import { registryAdvisories } from './audit/registry-advisories.ts';

/**
 * Prints the advisories about packages of package-lock.json, as the npm registry has them, or else the OSV export that OSV_EXPORT
 * names: a folder or .zip of https://osv-vulnerabilities.storage.googleapis.com/npm/all.zip. Exits with 1 where one of a runtime
 * package is high, critical or of unknown severity or the export cannot be read, with 3 where there was nothing to read.
 */
const folder = resolve(process.argv[2] ?? join(import.meta.dirname, '..'));
const { OSV_EXPORT: osvExport } = process.env;
const locked = lockedPackages(JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')));

const registry = registryAdvisories(folder, locked);
try {
  if ('findings' in registry) report(registry.findings, 'the npm registry');
  else if (osvExport) report(await osvAdvisories(osvExport, locked.values()), osvExport);
  else
    unknown(`the npm registry offers no advisories (${registry.unavailable}), and OSV_EXPORT names no export of OSV`);
} catch (error) {
  console.error(`audit: OSV_EXPORT: ${(error as Error).message}`);
  process.exitCode = 1;
}

function report(findings: Finding[], source: string): void {
  for (const { name, version, advisory, severity, fixedIn, isRuntime } of findings) {
    const use = isRuntime ? 'runtime' : 'development';
    console.log(
      `${name} ${version} (${use}): ${advisory}, ${severity}, ${fixedIn ? `fixed in ${fixedIn}` : 'not fixed'}`,
    );
  }
  const serious = findings.filter(isSerious).length;
  console.log(
    `audit: ${locked.size} packages held against ${source}: ${findings.length} advisories, ${serious} that a release must not have`,
  );
  process.exitCode = serious === 0 ? 0 : 1;
}

function unknown(reason: string): void {
  console.error(`audit: unknown: ${reason}`);
  process.exitCode = 3;
}
