import { toolAt } from '../tool.ts';
import { type Finding, type LockedPackage, severityOf } from './finding.ts';

interface Advisory {
  url: string;
  severity: string;
  range: string;
}
interface Report {
  message?: string;
  vulnerabilities?: Record<string, { via: (Advisory | string)[]; nodes: string[] }>;
}

/**
 * Returns the registry's advisories about a folder's lock file, by `npm audit`. `unavailable` is the reason if there are none: the
 * registry does not offer advisories, or does not respond.
 */
export function registryAdvisories(
  folder: string,
  locked: Map<string, LockedPackage>,
): { findings: Finding[] } | { unavailable: string } {
  // Without a network npm's retries take two minutes.
  const { stdout, stderr } = toolAt('npm')(
    ['audit', '--json', '--package-lock-only', '--fetch-retries=0', '--fetch-timeout=20000'],
    { cwd: folder },
  );
  let report: Report;
  try {
    report = JSON.parse(stdout) as Report;
  } catch {
    return { unavailable: stderr.trim().split('\n')[0] || 'npm audit printed no report' };
  }
  if (!report.vulnerabilities) return { unavailable: report.message ?? 'npm audit printed no report' };
  const findings = Object.values(report.vulnerabilities).flatMap(({ via, nodes }) =>
    via.flatMap((advisory) => {
      // A string names a package that only depends on a package with an advisory.
      if (typeof advisory === 'string') return [];
      const fixedIn = /<([^\s=<>|]+)$/.exec(advisory.range)?.[1];
      const severity = severityOf(advisory.severity);
      return nodes.flatMap((path) => {
        const found = locked.get(path);
        return found ? [{ ...found, advisory: advisory.url, severity, fixedIn }] : [];
      });
    }),
  );
  return { findings };
}
