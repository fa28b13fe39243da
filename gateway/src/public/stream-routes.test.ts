import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { ClientGone, createLogger } from '@customer-platform/service-kit';
import { type StandInService, startStandIn } from '@customer-platform/testkit/stand-in-service';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { forwarder } from '../forward/forward.ts';
import type { StreamSlots } from '../limits/stream-slots.ts';
import { type StreamCall, StreamRoutes } from './stream-routes.ts';

let service: StandInService;
let taken: number;
let routes: StreamRoutes;
beforeEach(async () => {
  service = await startStandIn();
  taken = 0;
  const slots = { take: async () => `slot-${++taken}`, release: () => undefined } as unknown as StreamSlots;
  // The key is checked 250 ms after its stream opens. The check never ends, so it is still running when a test ends.
  const { promise: isLookedAt } = Promise.withResolvers<null>();
  routes = new StreamRoutes({
    slots,
    keys: { forget: () => undefined, peek: () => undefined, find: () => isLookedAt },
    changes: { isDatabaseUnavailable: false, lastGoodMs: 0 },
    clock: () => new Date(),
    log: createLogger('gateway', 'silent'),
  });
});
afterEach(async () => {
  await routes.close();
  await service.stop();
});

/** Sends a stream request to a local server. Returns the call, and functions that disconnect the client and stop the server. */
async function request(): Promise<{ call: StreamCall; leave(): Promise<void>; stop(): void }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as { port: number }).port, '127.0.0.1');
  const arrived = once(server, 'request') as Promise<[IncomingMessage, ServerResponse]>;
  client.write('GET /v1/events/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer cp_test_1\r\n\r\n');
  const [incoming, response] = await arrived;
  const upstream = forwarder(service.url, 'webhooks', createLogger('gateway', 'silent'));
  const record = { keyId: 'key', ownerId: 'owner', expiresAtMs: Number.POSITIVE_INFINITY };
  const call = { request: incoming, response, record, upstream, address: '127.0.0.1', prepare: () => undefined };
  return {
    call: call as unknown as StreamCall,
    leave: async () => {
      client.destroy();
      await once(response, 'close');
    },
    stop: () => {
      client.destroy();
      upstream.close();
      server.close();
    },
  };
}

describe('a stream', () => {
  it('whose reader disconnected during the key look-up is neither opened nor kept', async () => {
    const { call, leave, stop } = await request();
    await leave();
    await expect(routes.pass(call)).rejects.toThrow(ClientGone);
    expect([taken, service.seen]).toEqual([0, []]);
    stop();
  });

  it('is refused with 429 if its account has a hundred, and accepted once one of them has ended', async () => {
    service.respond = (_seen, response) =>
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    const open = await Promise.all(Array.from({ length: 100 }, request));
    await Promise.all(open.map(({ call }) => routes.pass(call)));
    const { call, stop } = await request();
    await expect(routes.pass(call)).rejects.toMatchObject({ code: 'rate_limited', status: 429 });
    expect(taken).toBe(100);
    await open[0]!.leave();
    await routes.pass(call);
    expect(taken).toBe(101);
    for (const each of [...open, { stop }]) each.stop();
  });

  it('that a load balancer refuses with a page is 503', async () => {
    service.respond = (_seen, response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>502</h1>');
    const { call, stop } = await request();
    await expect(routes.pass(call)).rejects.toMatchObject({ code: 'service_unavailable', status: 503 });
    stop();
  });
});
