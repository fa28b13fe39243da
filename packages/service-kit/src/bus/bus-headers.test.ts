import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connect, headers, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { readHeaders } from './bus-headers.ts';

let nats: NatsConnection;
beforeAll(async () => {
  nats = await connect({ servers: process.env.TEST_NATS_URL! });
});
afterAll(() => nats.close());

/** Sends a message with so many bytes of headers, or none, and returns it as it comes. */
async function received(bytes: number | undefined, payload: string): Promise<Msg> {
  const subject = `headers.${crypto.randomUUID()}`;
  const { promise, resolve } = Promise.withResolvers<Msg>();
  nats.subscribe(subject, { max: 1, callback: (_error, message) => resolve(message) });
  const sent = headers();
  if (bytes !== undefined) sent.set('A', 'x'.repeat(bytes - 'NATS/1.0\r\nA: \r\n\r\n'.length));
  nats.publish(subject, payload, { reply: `${subject}.reply`, ...(bytes === undefined ? {} : { headers: sent }) });
  return await promise;
}

it.each(['', 'a payload'])('reads headers of up to 4,096 bytes, beside the payload %j', async (payload) => {
  expect(readHeaders(await received(undefined, payload))).toBeUndefined();
  expect(readHeaders(await received(100, payload))?.get('A')).toMatch(/^x+$/);
  expect(readHeaders(await received(4_096, payload))?.get('A')).toMatch(/^x+$/);
  const message = await received(4_097, payload);
  expect(() => readHeaders(message)).toThrow('the headers of a message are larger than 4096 bytes');
  expect(message.string()).toBe(payload);
});
