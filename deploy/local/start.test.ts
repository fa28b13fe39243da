import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../..');
/** A clone without the files that an installation or a start needs. */
const clone = mkdtempSync(join(tmpdir(), 'clone-'));
for (const file of ['scripts/start.sh', 'scripts/answer-start.mjs', 'deploy/local/start-options.mjs'])
  cpSync(join(root, file), join(clone, file));
afterAll(() => rmSync(clone, { recursive: true }));

/** Runs `npm start` in that clone. */
function start(args: string[], env: Record<string, string> = {}) {
  const settings = { cwd: clone, encoding: 'utf8', env: { ...process.env, ...env } } as const;
  return spawnSync('sh', ['scripts/start.sh', ...args], settings);
}

it.each(['--frsh', 'fresh', '--fresh=yes'])(
  'npm start -- %s installs and starts nothing and lists the flags',
  (flag) => {
    const { status, stdout } = start([flag]);
    expect(stdout).toMatch(/^Could not start: .+\n$/);
    expect(stdout).toContain(`"${flag}" contains an unknown flag`);
    expect(stdout).toContain(
      'the flags are --fresh (discard all data first), --no-demo (create no demo account), --json-logs (show',
    );
    expect(status).toBe(2);
  },
);

it('npm start with an invalid port starts nothing', () => {
  const { status, stdout } = start([], { GATEWAY_PORT: '80800' });
  expect(stdout).toBe('Could not start: GATEWAY_PORT is "80800": it must be a port from 1 to 65535\n');
  expect(status).toBe(2);
});

it.each(['--help', '-h'])(
  'npm start -- %s installs and starts nothing and prints flags and settings with their defaults',
  (flag) => {
    // Help works even if a port is invalid.
    const { status, stdout } = start([flag, '--no-demo'], { GATEWAY_PORT: 'none' });
    for (const text of [
      '--fresh',
      '--no-demo',
      '--help',
      'GATEWAY_PORT             8080',
      'ADMIN_PORT               8081',
    ])
      expect(stdout).toContain(text);
    expect(status).toBe(0);
  },
);

it('the usage lists only settings that the code reads', () => {
  const read = ['docs/reference/config.md', ...globSync('deploy/local/**/*.ts', { cwd: root })]
    .filter((file) => !file.endsWith('.test.ts'))
    .map((file) => readFileSync(join(root, file), 'utf8'))
    .join('\n');
  const named = [...start(['--help']).stdout.matchAll(/^ {2}([A-Z][A-Z_]+) /gm)].map(([, name]) => name!);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !read.includes(name))).toEqual([]);
});
