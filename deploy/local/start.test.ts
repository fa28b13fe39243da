import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

it.each(['--frsh', 'fresh', '--fresh=yes'])(
  'npm start -- %s starts nothing and names the options that there are',
  (option) => {
    const { status, stdout } = spawnSync(process.execPath, [join(import.meta.dirname, 'start.ts'), option], {
      encoding: 'utf8',
    });
    expect(stdout).toMatch(/^Could not start: .+\n$/);
    expect(stdout).toContain('--fresh');
    expect(stdout).toContain('options are --fresh (begin with empty data) and --no-demo (make no demo account)');
    expect(status).toBe(1);
  },
);
