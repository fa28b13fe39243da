import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

function start(args: string[], env: Record<string, string> = {}) {
  return spawnSync(process.execPath, [join(import.meta.dirname, 'start.ts'), ...args], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
}

it.each(['--frsh', 'fresh', '--fresh=yes'])(
  'npm start -- %s starts nothing and names the flags that there are',
  (flag) => {
    const { status, stdout } = start([flag]);
    expect(stdout).toMatch(/^Could not start: .+\n$/);
    expect(stdout).toContain(`"${flag}" is not understood`);
    expect(stdout).toContain(
      'the flags are --fresh (begin with empty data), --no-demo (make no demo account), --help (print this',
    );
    expect(status).toBe(2);
  },
);

it('a port that is none starts nothing', () => {
  const { status, stdout } = start([], { GATEWAY_PORT: '80800' });
  expect(stdout).toBe('Could not start: GATEWAY_PORT is "80800": it must be a port from 1 to 65535\n');
  expect(status).toBe(2);
});

it.each(['--help', '-h'])(
  'npm start -- %s starts nothing and prints flags and settings with their defaults',
  (flag) => {
    // A port that cannot be: whoever asks for help may have set it wrongly.
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

it('the usage names no setting that nothing reads', () => {
  const root = join(import.meta.dirname, '../..');
  const read = ['docs/reference/config.md', ...globSync('deploy/local/**/*.ts', { cwd: root })]
    .filter((file) => !file.endsWith('start-options.ts') && !file.endsWith('.test.ts'))
    .map((file) => readFileSync(join(root, file), 'utf8'))
    .join('\n');
  const named = [...start(['--help']).stdout.matchAll(/^ {2}([A-Z][A-Z_]+) /gm)].map(([, name]) => name!);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !read.includes(name))).toEqual([]);
});
