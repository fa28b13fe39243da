import { spawnSync } from 'node:child_process';
import { expect, it } from '@jest/globals';

it('the arguments of a login that Redis refused are not in the log', () => {
  const program = `
    import { createLogger } from ${JSON.stringify(new URL('./logging.ts', import.meta.url))};
    const command = { name: 'auth', args: ['default', 'the password'] };
    const err = Object.assign(new Error('WRONGPASS'), { command });
    createLogger('gateway', 'debug').debug({ err }, 'Redis');`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' });
  expect(JSON.parse(stdout).err).toMatchObject({ message: 'WRONGPASS', command: { name: 'auth', args: '[redacted]' } });
});
