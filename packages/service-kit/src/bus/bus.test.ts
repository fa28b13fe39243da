import { internalRequest } from '@customer-platform/contracts/core';
import { type Platform, startPlatform, startRelay, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { z } from 'zod';
import { createLogger } from '../telemetry/logging.ts';
import { Bus } from './bus.ts';

let platform: Platform;
let nats: NatsConnection;
let bus: Bus;
let prefix: string;

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  const { NATS_URL, BUS_PREFIX } = platform.env('crm');
  prefix = BUS_PREFIX!;
  nats = await connect({ servers: NATS_URL! });
  bus = await Bus.connect(NATS_URL!, { prefix, service: 'crm', log: createLogger('test', 'silent') });
}, 60_000);
afterAll(async () => {
  await bus?.close();
  await nats?.close();
  await platform?.stop();
});

const refused = { code: 'service_unavailable' };

it('a connection whose server falls silent is closed and reopened', async () => {
  const relay = await startRelay(platform.env('crm').NATS_URL!);
  const own = await Bus.connect(relay.url, { prefix, service: 'crm', log: createLogger('test', 'silent') });
  let heard = 0;
  own.onNews('crm', 'windows', () => heard++);
  relay.stall();
  await waitFor('the connection to be closed', () => !own.isConnected());
  relay.mend();
  await waitFor('news on the next connection', () => {
    own.publishNews('windows');
    return heard > 0;
  });
  await own.close();
  await relay.stop();
}, 60_000);

it('a request without a subscriber fails at once', async () => {
  const nobodys = internalRequest('countWindows', 'cdp', z.object({}), z.object({}));
  await expect(bus.ask(nobodys, 'account', {}, 600_000)).rejects.toMatchObject(refused);
});

it('a request that was taken gets its reply, even from a process that is stopping', async () => {
  const { NATS_URL } = platform.env('crm');
  const ending = await Bus.connect(NATS_URL!, { prefix, service: 'cdp', log: createLogger('test', 'silent') });
  const openDoors = internalRequest('openDoors', 'cdp', z.object({}), z.object({ doors: z.number() }));
  const [taken, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<{ doors: number }>()];
  ending.handle(openDoors, async () => {
    taken.resolve();
    return await opened.promise;
  });
  const knock = internalRequest('knock', 'cdp', z.object({}), z.object({}));
  ending.handle(knock, async () => ({}));
  await waitFor('the subscription', async () => await bus.ask(knock, 'account', {}));
  const reply = bus.ask(openDoors, 'account', {}, 60_000);
  await taken.promise;
  const closing = ending.close();
  await waitFor('the process to take no more requests', async () => {
    return await bus.ask(openDoors, 'account', {}, 1_000).then(
      () => false,
      () => true,
    );
  });
  // An idle process needs two round trips to close its connection.
  for (let trip = 0; trip < 50; trip++) await nats.flush();
  opened.resolve({ doors: 3 });
  expect(await reply).toEqual({ doors: 3 });
  await closing;
});

it('news above the payload limit of the server is dropped, and later news arrives', async () => {
  const heard: string[] = [];
  bus.onNews('crm', 'walls', (payload) => heard.push(payload));
  bus.publishNews('walls', 'x'.repeat(1_048_577));
  bus.publishNews('walls', 'two');
  await waitFor('the news', () => heard.length > 0);
  expect(heard).toEqual(['two']);
});

it('a consumer continues at once after a large event among many small ones', async () => {
  const kind = `window.${Math.random().toString(36).slice(2)}`;
  const sizes: number[] = [];
  const consuming = bus.consume(
    `sizes-${kind}`,
    { service: 'crm', kind },
    { size: 100, gatherMs: 0 },
    async (batch) => {
      for (const message of batch) {
        sizes.push(message.bytes.length);
        message.acknowledge();
      }
    },
  );
  const publish = (sequence: number, envelope: string) =>
    bus.publish({ id: crypto.randomUUID(), kind, audience: 'public', sequence, envelope, trace: undefined });
  const expected: number[] = [];
  for (let round = 0; round < 12; round++) {
    await Promise.all(Array.from({ length: 150 }, (_, index) => publish(round * 1_000 + index, 'small')));
    await publish(round * 1_000 + 999, 'x'.repeat(300_000));
    expected.push(...Array<number>(150).fill(5), 300_000);
    await waitFor('the events of a round', () => sizes.length >= expected.length);
  }
  expect(sizes).toEqual(expected);
  // NATS handles acknowledgements in a queue of its own, so a later info request may overtake the last one.
  await waitFor('the last acknowledgement', async () => (await consuming.pending()).count === 0);
  await consuming.stop();
}, 120_000);

it('events are gathered into full batches, and the rest is taken when the consumer stops', async () => {
  const kind = `gathered.${Math.random().toString(36).slice(2)}`;
  const batches: number[][] = [];
  const gathered = { size: 3, gatherMs: 600_000 };
  const consuming = bus.consume(`gathered-${kind}`, { service: 'crm', kind }, gathered, async (batch) => {
    batches.push(batch.map(({ headers }) => Number(headers['Event-Sequence'])));
    for (const message of batch) message.acknowledge();
  });
  const publish = (sequence: number) =>
    bus.publish({ id: crypto.randomUUID(), kind, audience: 'public', sequence, envelope: '{}', trace: undefined });
  for (const sequence of [1, 2, 3, 4]) await publish(sequence);
  await waitFor('the full batch', () => batches.length > 0);
  await waitFor('the last event', async () => (await consuming.pending()).oldestAt !== undefined);
  expect(batches).toEqual([[1, 2, 3]]);
  await consuming.stop();
  expect(batches).toEqual([[1, 2, 3], [4]]);
}, 60_000);
