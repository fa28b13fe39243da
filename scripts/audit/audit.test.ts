import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import JSZip from 'jszip';
import type { LockedPackage } from './finding.ts';
import { osvAdvisories } from './osv-export.ts';

const work = mkdtempSync(join(tmpdir(), 'audit-'));
let registry: Server;
/** Responses of the registry by path. Any other path gets 404. */
let responses: Record<string, { status: number; body: unknown }> = {};

beforeAll(async () => {
  registry = createServer((request, response) => {
    const { status, body } = responses[request.url ?? ''] ?? { status: 404, body: { error: 'not found' } };
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => registry.once('listening', resolve));
  const packages = {
    '': { name: 'audited', version: '1.0.0', dependencies: { served: '^1.0.0' }, devDependencies: { tool: '^2.0.0' } },
    'node_modules/served': { version: '1.2.0' },
    'node_modules/tool': { version: '2.0.0', dev: true },
  };
  writeFileSync(join(work, 'package.json'), JSON.stringify({ ...packages[''], private: true }));
  writeFileSync(
    join(work, 'package-lock.json'),
    JSON.stringify({ name: 'audited', version: '1.0.0', lockfileVersion: 3, requires: true, packages }),
  );
});
afterAll(() => {
  registry.close();
  rmSync(work, { recursive: true });
});

/** Runs the audit of the folder against our registry. */
function audit(osvExport = '') {
  const { port } = registry.address() as AddressInfo;
  // npm keeps advisories in its cache, by their ids.
  const npm = { npm_config_registry: `http://127.0.0.1:${port}/`, npm_config_cache: mkdtempSync(join(work, 'cache-')) };
  const env = { ...process.env, ...npm, OSV_EXPORT: osvExport };
  return new Promise<{ status: number; output: string }>((resolve) => {
    execFile(process.execPath, [join(import.meta.dirname, '../audit.ts'), work], { env }, (error, stdout, stderr) =>
      resolve({ status: Number(error?.code ?? 0), output: stdout + stderr }),
    );
  });
}

/** A record about a package, with events of one range. */
const recordOf = (id: string, name: string, severity: string | undefined, ...events: object[]) => ({
  id,
  database_specific: { severity },
  affected: [{ package: { ecosystem: 'npm', name }, ranges: [{ type: 'SEMVER', events }] }],
});

/** Writes records as an export; returns its path. */
async function exportOf(kind: 'folder' | 'zip', records: object[]): Promise<string> {
  const path = join(work, `osv-${kind}-${Math.random()}`);
  const zip = new JSZip();
  if (kind === 'folder') mkdirSync(path);
  records.forEach((record, index) => {
    if (kind === 'folder') writeFileSync(join(path, `${index}.json`), JSON.stringify(record));
    else zip.file(`${index}.json`, JSON.stringify(record));
  });
  if (kind === 'zip') writeFileSync(path, await zip.generateAsync({ type: 'nodebuffer' }));
  return path;
}

describe('npm run audit', () => {
  const bulk = '/-/npm/v1/security/advisories/bulk';
  const advisory = (severity: string) => ({
    id: 1,
    url: 'https://example.test/GHSA-1',
    title: 'A fault',
    severity,
    vulnerable_versions: '<1.3.0',
    cwe: [],
    cvss: { score: 7, vectorString: null },
  });
  const offered = (body: unknown) => ({ [bulk]: { status: 200, body } });

  it.each([
    ['a runtime package with a high one', { served: [advisory('high')] }, 1],
    ['a runtime package with a moderate one', { served: [advisory('moderate')] }, 0],
    [
      'a development package with a critical one',
      { tool: [{ ...advisory('critical'), vulnerable_versions: '<3.0.0' }] },
      0,
    ],
    ['none', {}, 0],
  ])('reads the advisories of the registry: %s', async (_, body, expected) => {
    responses = offered(body);
    const { status, output } = await audit();
    expect([status, output]).toEqual([expected, expect.stringContaining('compared with the npm registry')]);
    if ('served' in body) expect(output).toContain('served 1.2.0 (runtime): https://example.test/GHSA-1');
    if ('served' in body) expect(output).toContain('fixed in 1.3.0');
    if ('tool' in body) expect(output).toContain('tool 2.0.0 (development): https://example.test/GHSA-1, critical');
  });

  it.each(['folder', 'zip'] as const)('reads an OSV export (%s) if the registry offers no advisories', async (kind) => {
    responses = { [bulk]: { status: 405, body: { error: 'not allowed' } } };
    const one = recordOf('GHSA-2', 'served', 'HIGH', { introduced: '0' }, { fixed: '1.2.1' });
    const { status, output } = await audit(await exportOf(kind, [one]));
    expect([status, output]).toEqual([
      1,
      expect.stringContaining('served 1.2.0 (runtime): GHSA-2, high, fixed in 1.2.1'),
    ]);
  });

  it('reports unknown without either source, and fails on an export that is unreadable or empty', async () => {
    responses = {};
    expect(await audit()).toEqual({
      status: 3,
      output: expect.stringMatching(/^audit: unknown: .*OSV_EXPORT names no/),
    });
    expect(await audit(join(work, 'missing'))).toMatchObject({ status: 1, output: expect.stringContaining('no such') });
    expect(await audit(await exportOf('folder', []))).toMatchObject({ status: 1 });
  });
});

describe('an OSV record', () => {
  const locked = (version: string): LockedPackage => ({ name: 'served', version, isRuntime: true });

  it.each([
    ['before it was introduced', '1.0.0', [{ introduced: '1.1.0' }, { fixed: '1.2.0' }], []],
    ['in its span', '1.1.5', [{ introduced: '1.1.0' }, { fixed: '1.2.0' }], ['1.2.0']],
    ['a pre-release of the span', '1.2.0-rc.1', [{ introduced: '1.1.0' }, { fixed: '1.2.0' }], ['1.2.0']],
    ['fixed', '1.2.0', [{ introduced: '1.1.0' }, { fixed: '1.2.0' }], []],
    [
      'in the second of two spans',
      '2.0.1',
      [{ introduced: '0' }, { fixed: '1.2.0' }, { introduced: '2.0.0' }, { fixed: '2.1.0' }],
      ['2.1.0'],
    ],
    [
      'between two spans',
      '1.5.0',
      [{ introduced: '2.0.0' }, { fixed: '2.1.0' }, { introduced: '0' }, { fixed: '1.2.0' }],
      [],
    ],
    ['never fixed', '9.0.0', [{ introduced: '0' }], [undefined]],
    ['the last one affected', '1.4.0', [{ introduced: '0' }, { last_affected: '1.4.0' }], [undefined]],
    ['after the last one affected', '1.4.1', [{ introduced: '0' }, { last_affected: '1.4.0' }], []],
  ])('matches a version: %s', async (_, version, events, expected) => {
    const path = await exportOf('folder', [recordOf('GHSA-3', 'served', 'LOW', ...events)]);
    expect((await osvAdvisories(path, [locked(version)])).map(({ fixedIn }) => fixedIn)).toEqual(expected);
  });

  it('about a malicious package is critical, without a severity unknown; withdrawn ones and other packages do not count', async () => {
    const versions = { affected: [{ package: { ecosystem: 'npm', name: 'served' }, versions: ['1.0.0'] }] };
    const path = await exportOf('folder', [
      { id: 'MAL-1', ...versions },
      { id: 'GHSA-4', ...versions },
      { id: 'GHSA-5', withdrawn: '2026-01-01T00:00:00Z', ...versions },
      recordOf('GHSA-6', 'other', 'HIGH', { introduced: '0' }),
      { id: 'PYSEC-1', affected: [{ package: { ecosystem: 'PyPI', name: 'served' }, versions: ['1.0.0'] }] },
    ]);
    const found = await osvAdvisories(path, [locked('1.0.0')]);
    expect(found.map(({ advisory, severity }) => [advisory, severity]).sort()).toEqual([
      ['GHSA-4', 'unknown'],
      ['MAL-1', 'critical'],
    ]);
  });
});
