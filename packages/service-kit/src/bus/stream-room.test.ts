import { randomUUID } from 'node:crypto';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { AckPolicy, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection, nanos } from '@nats-io/transport-node';
import { createLogger } from '../telemetry/logging.ts';
import { BusConnection } from './bus-connection.ts';
import { retentionMs, StreamRoom } from './stream-room.ts';

const kept = { slackMs: 6_000, leastMs: 1_000 };
let platform: Platform;
let nats: NatsConnection;
let manager: JetStreamManager;
let connection: BusConnection;
let name: string;

beforeAll(async () => {
  platform = await startPlatform({ services: [] });
  const { NATS_URL } = platform.env('gateway');
  nats = await connect({ servers: NATS_URL! });
  manager = await jetstreamManager(nats);
  connection = new BusConnection(NATS_URL!, {}, 'gateway', createLogger('test', 'silent'));
  await connection.connected(10_000);
}, 60_000);
afterAll(async () => {
  await connection?.close();
  await nats?.close();
  await platform?.stop();
});
beforeEach(async () => {
  name = `room-${randomUUID()}`;
  await manager.streams.add({
    name,
    subjects: [`${name}.>`],
    max_age: nanos(retentionMs),
    max_bytes: 1_048_576,
    duplicate_window: nanos(500),
    deny_purge: true,
  });
  for (const durable of ['books', 'rare']) {
    const filter_subject = `${name}.${durable}`;
    await manager.consumers.add(name, { durable_name: durable, ack_policy: AckPolicy.Explicit, filter_subject });
  }
});

const room = () => new StreamRoom(connection, name, createLogger('test', 'silent'), kept);
const firstSequence = async () => (await manager.streams.info(name)).state.first_seq;

/** Publishes events of 60 kB: nine of them fill half of the stream. */
async function publish(count: number): Promise<void> {
  for (let index = 0; index < count; index++) await jetstream(nats).publish(`${name}.books`, new Uint8Array(60_000));
}

async function finish(count: number): Promise<void> {
  const consumer = await jetstream(nats).consumers.get(name, 'books');
  for await (const message of await consumer.fetch({ max_messages: count })) await message.ackAck();
}

/** Has a room look at the stream until what is there is old enough to be deleted. */
async function look(at: StreamRoom): Promise<void> {
  const until = performance.now() + kept.slackMs + 1_000;
  const isOld = async () => {
    await at.makeRoom();
    return performance.now() > until;
  };
  await waitFor('time to pass', isOld, 60_000);
}

it('is made by what every consumer has finished, and nothing else is deleted', async () => {
  const ours = room();
  await publish(5);
  await look(ours);
  await publish(5);
  await ours.makeRoom();
  expect(await firstSequence()).toBe(1);
  await finish(7);
  const isMade = async () => {
    await ours.makeRoom();
    return (await firstSequence()) > 1;
  };
  await waitFor('room', isMade, 30_000);
  expect(await firstSequence()).toBe(6);
  await look(ours);
  const { state, config } = await manager.streams.info(name);
  expect([state.first_seq, state.last_seq, config.max_age]).toEqual([6, 10, nanos(retentionMs)]);
}, 90_000);

it('is not made while the stream is less than half full, nor where it has no consumers', async () => {
  const ours = room();
  await publish(8);
  await finish(8);
  await look(ours);
  expect(await firstSequence()).toBe(1);
  for (const durable of ['books', 'rare']) await manager.consumers.delete(name, durable);
  await publish(2);
  await look(ours);
  expect(await firstSequence()).toBe(1);
}, 90_000);

it('gives the stream its retention back where somebody who made room ended halfway', async () => {
  const { config } = await manager.streams.info(name);
  await manager.streams.update(name, { ...config, max_age: nanos(3_600_000) });
  await room().makeRoom();
  expect((await manager.streams.info(name)).config.max_age).toBe(nanos(retentionMs));
});
