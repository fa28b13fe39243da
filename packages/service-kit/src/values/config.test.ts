import { expect, it } from '@jest/globals';
import { baseConfig, readConfig } from './config.ts';

const sound = { DATABASE_URL: 'postgres://x', NATS_URL: 'nats://x', CONTEXT_SECRET: 'x'.repeat(32) };

it('reads settings with their defaults; empty values count as missing', () => {
  expect(readConfig(baseConfig, { ...sound, PORT: '', DATABASE_POOL: '3' })).toMatchObject({
    PORT: 0,
    DATABASE_POOL: 3,
    LOG_LEVEL: 'info',
  });
});

it('names every wrong setting at once, with its description', () => {
  const read = () => readConfig(baseConfig, { ...sound, PORT: '70000', CONTEXT_SECRET: 'short', NATS_URL: '' });
  for (const line of [/^ *PORT: .*Port to listen on/m, /^ *NATS_URL: .*JetStream/m, /^ *CONTEXT_SECRET: .*Signs/m])
    expect(read).toThrow(line);
});
