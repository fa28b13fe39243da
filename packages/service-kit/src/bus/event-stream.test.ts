import { rmSync } from 'node:fs';
import { firstLine, freePort } from '@customer-platform/deploy/local-port';
import { natsServer } from '@customer-platform/deploy/servers/nats';
import { startServer } from '@customer-platform/deploy/supervisor/managed-process';
import { newDataFolder, programsFolder } from '@customer-platform/testkit/data-folder';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { createLogger } from '../telemetry/logging.ts';
import { Bus } from './bus.ts';

const directory = newDataFolder();
let server: { stop(): Promise<void> } | undefined;
let nats: NatsConnection;
let url: string;

// Without JetStream, for which the test replies.
beforeAll(async () => {
  const port = await freePort();
  const described = await natsServer({ directory, port, cacheDirectory: programsFolder() });
  const args = described.args.slice(0, described.args.indexOf('--jetstream'));
  const ready = async () => (await firstLine(port, ''))?.startsWith('INFO') ?? false;
  server = await startServer({ ...described, args, ready });
  url = described.url;
  nats = await connect({ servers: url });
}, 60_000);
afterAll(async () => {
  await nats?.close();
  await server?.stop();
  rmSync(directory, { recursive: true, force: true });
});

it.each([
  [
    'not made where NATS cannot say whether there is one',
    { code: 503, err_code: 10_008, description: 'not available' },
    [],
  ],
  [
    'made where NATS says that there is none',
    { code: 404, err_code: 10_059, description: 'stream not found' },
    ['CREATE'],
  ],
])('a stream is %s', async (_, error, made) => {
  const asked: string[] = [];
  const replies = nats.subscribe('$JS.API.STREAM.>', {
    callback: (_error, message) => {
      asked.push(message.subject.split('.')[3]!);
      message.respond(JSON.stringify({ error }));
    },
  });
  await nats.flush();
  const bus = await Bus.connect(url, { prefix: 'one', service: 'crm', log: createLogger('test', 'silent') });
  await expect(bus.ready()).rejects.toThrow(error.description);
  expect(asked).toEqual(['INFO', ...made]);
  await bus.close();
  replies.unsubscribe();
});
