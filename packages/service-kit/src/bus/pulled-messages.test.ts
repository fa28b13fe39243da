import { randomUUID } from 'node:crypto';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import { PulledMessages } from './pulled-messages.ts';

let platform: Platform;
let nats: NatsConnection;
const pulling: PulledMessages[] = [];

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  nats = await connect({ servers: platform.env('crm').NATS_URL! });
}, 60_000);
afterEach(() => {
  for (const each of pulling.splice(0)) each.stop();
});
afterAll(async () => {
  await nats?.close();
  await platform?.stop();
});

/** Pulls by short requests from a consumer for which `respond` speaks, with the inboxes of the requests so far; throws what ends it. */
async function pull(respond: (inboxes: string[]) => void): Promise<void> {
  const [stream, consumer] = [randomUUID(), 'c'];
  const inboxes: string[] = [];
  nats.subscribe(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, {
    callback: (_error, { reply }) => {
      inboxes.push(reply!);
      respond(inboxes);
    },
  });
  await nats.flush();
  const messages = new PulledMessages(nats, { stream, consumer, batch: 10, service: 'crm', requestMs: 10 });
  pulling.push(messages);
  for await (const { subject } of messages) throw new Error(`nothing was sent, and ${subject} came`);
}

const end = (inbox: string, code: number, description: string) =>
  nats.publish(inbox, '', { headers: headers(code, description) });

describe('a request for messages', () => {
  it('that the bus forgot is followed by the next, which its late end does not touch', async () => {
    const pulled = pull(([first, second]) => {
      if (!second) return;
      end(first!, 408, 'Request Timeout');
      end(second, 409, 'Consumer Deleted');
    });
    await expect(pulled).rejects.toThrow('the bus ended a request: 409 Consumer Deleted');
  });

  it('is the last where the bus has said nothing of several', async () => {
    let requests = 0;
    const pulled = pull(() => {
      requests++;
    });
    await expect(pulled).rejects.toThrow('the bus is silent about requests');
    expect(requests).toBe(5);
  });

  it('that ended in time is followed by the next, as long as there are any', async () => {
    const pulled = pull((inboxes) => {
      const inbox = inboxes.at(-1)!;
      if (inboxes.length <= 20) end(inbox, 408, 'Request Timeout');
      else end(inbox, 409, 'Consumer Deleted');
    });
    await expect(pulled).rejects.toThrow('409 Consumer Deleted');
  });
});
