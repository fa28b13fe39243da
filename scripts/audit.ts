import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Finding, isSerious, lockedPackages } from './audit/finding.ts';
import { osvAdvisories } from './audit/osv-export.ts';
import { registryAdvisories } from './audit/registry-advisories.ts';

/**
 * Prints the advisories about packages of package-lock.json, from the npm registry, else from the OSV export at OSV_EXPORT: a folder
 * or a .zip such as https://osv-vulnerabilities.storage.googleapis.com/npm/all.zip. Exits with 1 if an advisory about a runtime package
 * is high, critical or of unknown severity, or if the export is unreadable. Exits with 3 without a source.
 */
const folder = resolve(process.argv[2] ?? join(import.meta.dirname, '..'));
const { OSV_EXPORT: osvExport } = process.env;
const locked = lockedPackages(JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')));

const registry = registryAdvisories(folder, locked);
try {
  if ('findings' in registry) report(registry.findings, 'the npm registry');
  else if (osvExport) report(await osvAdvisories(osvExport, locked.values()), osvExport);
  else unknown(`the npm registry offers no advisories (${registry.unavailable}), and OSV_EXPORT names no OSV export`);
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
    `audit: ${locked.size} packages compared with ${source}: ${findings.length} advisories, ${serious} block a release`,
  );
  process.exitCode = serious === 0 ? 0 : 1;
}

function unknown(reason: string): void {
  console.error(`audit: unknown: ${reason}`);
  process.exitCode = 3;
}
