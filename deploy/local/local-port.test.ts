import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from '@jest/globals';
import { freePort } from './local-port.ts';

/** Prints 300 ports and runs until its input closes. */
const other = `
  import { freePort } from '${new URL('./local-port.ts', import.meta.url)}';
  console.log((await Promise.all(Array.from({ length: 300 }, freePort))).join(' '));
  process.stdin.resume();`;

it('freePort returns each port once, across processes', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', other], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const theirs = line.toString().trim().split(' ').map(Number);
    const ours = await Promise.all(Array.from({ length: 300 }, freePort));
    expect(theirs).toHaveLength(300);
    expect(new Set([...theirs, ...ours]).size).toBe(600);
  } finally {
    child.stdin.end();
    await once(child, 'exit');
  }
}, 60_000);
