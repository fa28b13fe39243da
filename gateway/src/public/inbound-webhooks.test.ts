import { type Platform, rawRequest, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { type StandInService, startStandIn } from '@customer-platform/testkit/stand-in-service';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SlowClient } from '../../test/slow-client.ts';

const path = '/v1/messages/channels';
let service: StandInService;
let platform: Platform;
let neighbor: TestAccount;
let clients: SlowClient[];

beforeEach(async () => {
  clients = [];
  service = await startStandIn();
});
afterEach(async () => {
  for (const client of clients) client.end();
  await platform?.stop();
  await service?.stop();
});

async function start(env: Record<string, string> = {}): Promise<void> {
  const common = { MESSAGING_URL: service.url, TRUSTED_PROXIES: '127.0.0.1', BODY_WINDOW_SECONDS: '600' };
  platform = await startPlatform({ services: [], env: { ...common, ...env, DRAIN_SECONDS: '0' } });
  neighbor = await platform.account();
}

function open(text: string): SlowClient {
  const client = new SlowClient(platform.gatewayUrl, text);
  clients.push(client);
  return client;
}

const hook = (token: string, from = '203.0.113.1', text: string | undefined = '{}') =>
  rawRequest(platform.gatewayUrl, 'POST', `/hooks/messages/${token}`, {
    rawBody: text,
    headers: { 'x-forwarded-for': from },
  });

async function expectNeighborServed(): Promise<void> {
  const asked = Promise.all(
    Array.from({ length: 20 }, () => rawRequest(platform.gatewayUrl, 'GET', path, { key: neighbor.key })),
  );
  const responses = await waitFor('the responses', () => Promise.race([asked, undefined]), 20_000);
  expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200));
}

/** Makes the service know only these tokens, and respond to their POSTs with these statuses. */
function serve(tokens: Record<string, number>): void {
  const { respond } = service;
  service.respond = (seen, response) => {
    const token = /^\/hooks\/messages\/([^?]+)/.exec(seen.url)?.[1];
    if (token === undefined) return respond(seen, response);
    const status = tokens[token] ?? 404;
    response.writeHead(seen.method === 'HEAD' && status !== 404 ? 200 : status, { 'content-type': 'text/plain' }).end();
  };
}

/** Makes the service accept POSTs of webhooks without a response. */
function hang(): void {
  const { respond } = service;
  service.respond = (seen, response) => {
    if (seen.method === 'POST' && seen.url.startsWith('/hooks/')) return;
    respond(seen, response);
  };
}

describe('slow webhook requests', () => {
  it('take at most half of the sockets for webhooks and no others, over many connections of many addresses', async () => {
    hang();
    await start();
    for (let count = 0; count < 600; count++) {
      const from = `X-Forwarded-For: 203.0.113.${count % 20}`;
      open(`POST /hooks/messages/token HTTP/1.1\r\nHost: x\r\n${from}\r\nContent-Length: 2\r\n\r\n{}`);
    }
    await waitFor('requests at the service', () => service.seen.filter(({ method }) => method === 'POST').length >= 32);
    await expectNeighborServed();
    expect(service.seen.filter(({ method }) => method === 'POST')).toHaveLength(32);
  });

  it('are 429 beyond 64 of one address (IPv6: its /64), and their incomplete bodies take no socket', async () => {
    await start();
    const post = (count: number) => {
      const from = `X-Forwarded-For: 2001:db8:0:1::${(count + 1).toString(16)}`;
      const lines = ['POST /hooks/messages/token HTTP/1.1', 'Host: x', from, 'Content-Length: 100'];
      return open([...lines, 'Expect: 100-continue', '', ''].join('\r\n'));
    };
    const slow = Array.from({ length: 200 }, (_none, count) => post(count));
    await waitFor('every response', () => slow.every((client) => client.isContinued || client.status), 20_000);
    expect(slow.filter(({ isContinued }) => isContinued)).toHaveLength(64);
    const refused = slow.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(136);
    expect(refused[0]!.all).toContain('\r\nRetry-After: 1\r\n');
    expect(refused[0]!.all).toContain('"code":"rate_limited"');
    await expectNeighborServed();
    expect(service.seen.filter(({ method }) => method === 'POST')).toEqual([]);
    expect((await hook('token', '2001:db8:0:2::1')).status).toBe(200);
  });

  it('leave room at their address for webhooks of other accounts, and release it when they end', async () => {
    serve({ slow: 200, other: 200 });
    await start();
    const slow = Array.from({ length: 100 }, () =>
      open(
        'POST /hooks/messages/slow HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 203.0.113.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n',
      ),
    );
    await waitFor('every response', () => slow.every((client) => client.isContinued || client.status), 20_000);
    const held = slow.filter(({ isContinued }) => isContinued);
    expect(held).toHaveLength(64);
    expect([(await hook('slow')).status, (await hook('other')).status]).toEqual([429, 200]);
    for (const client of held) client.send('{}');
    await Promise.all(held.map((client) => client.responseStatus()));
    expect(held.filter(({ status }) => status === 200)).toHaveLength(64);
    await waitFor('a place', async () => (await hook('slow')).status === 200);
  });

  it('are 408 if their body does not arrive', async () => {
    await start({ BODY_WINDOW_SECONDS: '0.1' });
    const client = open('POST /hooks/messages/token HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
    expect(await client.responseStatus()).toBe(408);
    expect(client.all).toMatch(/\r\nConnection: close\r\n/i);
    expect(service.seen.map(({ method }) => method)).toEqual(['HEAD']);
  });
});

describe('a token', () => {
  it('that is unknown is 404 before the body is sent', async () => {
    serve({ known: 200 });
    await start();
    const client = open('POST /hooks/messages/none?a=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n');
    expect(await client.responseStatus()).toBe(404);
    expect(client.all).toContain('"code":"not_found"');
    expect(service.seen.map(({ method, url }) => `${method} ${url}`)).toEqual(['HEAD /hooks/messages/none']);
    expect((await hook(`${'x'.repeat(1_000)}`)).status).toBe(404);
    expect(service.seen).toHaveLength(1);
  });

  it('that is known is checked once, until the service does not find it', async () => {
    const tokens: Record<string, number> = { known: 200 };
    serve(tokens);
    await start();
    for (let count = 0; count < 3; count++) expect((await hook('known')).status).toBe(200);
    expect(service.seen.map(({ method }) => method)).toEqual(['HEAD', 'POST', 'POST', 'POST']);
    delete tokens.known;
    expect((await hook('known')).status).toBe(404);
    expect((await hook('known')).status).toBe(404);
    expect(service.seen.slice(4).map(({ method }) => method)).toEqual(['POST', 'HEAD']);
  });

  it('is 429 after many unknown ones from its address, while known ones keep working', async () => {
    serve({ known: 200 });
    await start({ HOOK_REFUSALS_PER_SECOND: '1' });
    expect((await hook('known')).status).toBe(200);
    let count = 0;
    const refused = await waitFor('a refusal', async () => {
      const response = await hook(`guess-${count++}`);
      expect([404, 429]).toContain(response.status);
      return response.status === 429 ? response : undefined;
    });
    expect(count).toBeGreaterThan(10);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await hook('known')).status).toBe(200);
    expect((await hook('guess', '203.0.113.2')).status).toBe(404);
  });

  it('whose requests the service refuses is 429 for their address after some, but not for other addresses', async () => {
    serve({ wrong: 401, right: 200 });
    await start({ HOOK_REFUSALS_PER_SECOND: '1' });
    let count = 0;
    await waitFor('a refusal', async () => {
      count++;
      return (await hook('wrong')).status === 429;
    });
    expect(count).toBeGreaterThan(10);
    expect((await hook('right')).status).toBe(200);
    expect((await hook('wrong', '203.0.113.2')).status).toBe(401);
  });

  it('is 503 if the service cannot say whether it exists', async () => {
    service.respond = (_seen, response) => response.writeHead(500).end();
    await start();
    const response = await hook('any');
    expect([response.status, response.body.error.code, response.headers.get('retry-after')]).toEqual([
      503,
      'service_unavailable',
      '1',
    ]);
  });
});

describe('an unsubscribe link', () => {
  const link = (token: string, from = '203.0.113.1') =>
    rawRequest(platform.gatewayUrl, 'GET', `/u/${token}`, { key: null, headers: { 'x-forwarded-for': from } });

  /** Makes the service respond to every path with its page, with status 400 except for one token. */
  function servePages(): void {
    service.respond = (seen, response) => {
      response.writeHead(seen.url.startsWith('/u/known') ? 200 : 400, { 'content-type': 'text/html' }).end(seen.url);
    };
  }

  it('needs no key, and shows the page of the service for every token, even an unknown one', async () => {
    servePages();
    await start();
    for (const [token, status] of [
      ['known?a=1', 200],
      ['cut-off', 400],
    ] as const) {
      const response = await link(token);
      expect([response.status, response.text, response.headers.get('content-type')]).toEqual([
        status,
        `/u/${token}`,
        'text/html',
      ]);
    }
    expect(service.seen.every(({ headers }) => headers['platform-context'] === undefined)).toBe(true);
    for (const path of ['/u/', '/u/known/more', `/u/${'x'.repeat(201)}`])
      expect((await rawRequest(platform.gatewayUrl, 'GET', path, { key: null })).status).toBe(404);
  });

  it('that is guessed repeatedly is 429 for that address after some guesses, while valid ones keep working', async () => {
    servePages();
    await start({ HOOK_REFUSALS_PER_SECOND: '1' });
    expect((await link('known')).status).toBe(200);
    let count = 0;
    await waitFor('a refusal', async () => (await link(`guess-${count++}`)).status === 429);
    expect(count).toBeGreaterThan(10);
    expect([(await link('known')).status, (await link('guess', '203.0.113.2')).status]).toEqual([200, 400]);
  });
});

describe('the webhooks of an account', () => {
  it('share its part of the body memory, however many it has, and other accounts keep theirs', async () => {
    const { respond } = service;
    service.respond = (seen, response) => {
      const owner = seen.url.includes('/theirs') ? 'theirs' : 'ours';
      if (seen.method === 'HEAD') response.writeHead(200, { 'hook-account': owner }).end();
      else respond(seen, response);
    };
    await start({ BODY_MEMORY_MIB: '8' });
    // An account gets a quarter of the 2 MiB for webhooks, which is less than two bodies of 400 KiB.
    const head = (token: string) =>
      `POST /hooks/messages/${token} HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n`;
    const all = ['one', 'another'].map((token) => open(head(token) + 'x'.repeat(409_600)));
    await waitFor('a refusal', () => all.some(({ status }) => status === 429));
    expect((await hook('theirs', '203.0.113.2', 'x'.repeat(300_000))).status).toBe(200);
    expect((await hook('theirs')).headers.has('hook-account')).toBe(false);
  });
});

describe('webhook requests of an address', () => {
  it('have a rate limit: over it they are 429, and other addresses are not affected', async () => {
    await start({ HOOK_RATE_PER_ADDRESS: '1' });
    let count = 0;
    await waitFor('a refusal', async () => {
      count++;
      return (await hook('token')).status === 429;
    });
    expect(count).toBeGreaterThan(2);
    expect((await hook('token', '203.0.113.2')).status).toBe(200);
  });
});
