import { isOfRuntime, type LockEntry } from '@customer-platform/deploy/image/inventory';
import { valid } from 'semver';

/** Package of the lock file. */
export interface LockedPackage {
  name: string;
  version: string;
  /** Whether the platform's processes need it at run time. */
  isRuntime: boolean;
}

/** Advisory about a locked package. `fixedIn` is undefined if no release fixes it. */
export interface Finding extends LockedPackage {
  advisory: string;
  severity: 'low' | 'moderate' | 'high' | 'critical' | 'unknown';
  fixedIn: string | undefined;
}

/** Returns the packages of a lock file, by their folder. */
export function lockedPackages(lock: { packages: Record<string, LockEntry> }): Map<string, LockedPackage> {
  const found = Object.entries(lock.packages).flatMap(([path, entry]): [string, LockedPackage][] => {
    const at = path.lastIndexOf('node_modules/');
    if (at < 0 || entry.link || valid(entry.version) === null) return [];
    const name = entry.name ?? path.slice(at + 'node_modules/'.length);
    return [[path, { name, version: entry.version, isRuntime: isOfRuntime(entry) }]];
  });
  return new Map(found);
}

/** Returns a known severity. A missing or unfamiliar one is `unknown`. */
export function severityOf(text: unknown): Finding['severity'] {
  const known = String(text).toLowerCase();
  return known === 'low' || known === 'moderate' || known === 'high' || known === 'critical' ? known : 'unknown';
}

/** Returns whether a finding blocks a release. An unknown severity counts as serious. */
export function isSerious({ isRuntime, severity }: Finding): boolean {
  return isRuntime && severity !== 'low' && severity !== 'moderate';
}
