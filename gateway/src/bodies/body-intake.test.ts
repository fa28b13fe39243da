import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Platform, rawRequest, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { type StandInService, startStandIn } from '@customer-platform/testkit/stand-in-service';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SlowClient } from '../../test/slow-client.ts';
import { startGateway } from '../main.ts';

const path = '/v1/calendar/settings';
const booking = '/v1/calendar/appointments';
const upload = '/v1/agents/knowledge/files';
const mebibyte = 1_048_576;

let service: StandInService;
let platform: Platform;
let account: TestAccount;
let neighbor: TestAccount;
let directory: string;
const clients: SlowClient[] = [];

beforeAll(async () => {
  service = await startStandIn();
  directory = mkdtempSync(join(tmpdir(), 'uploads-'));
  const env = { CALENDAR_URL: service.url, AGENTS_URL: service.url, UPLOAD_DIRECTORY: directory };
  // Only tests that set a window refuse slow bodies.
  platform = await startPlatform({ services: [], env: { ...env, BODY_WINDOW_SECONDS: '600' } });
});
afterAll(async () => {
  await platform?.stop();
  await service?.stop();
  rmSync(directory, { recursive: true, force: true });
});
beforeEach(async () => {
  [account, neighbor] = [await platform.account(), await platform.account()];
  service.seen.length = 0;
});
afterEach(() => {
  for (const client of clients.splice(0)) client.end();
});

function post(length: number, key = account.key, target = booking, url = platform.gatewayUrl): SlowClient {
  const client = SlowClient.post(url, target, length, key);
  clients.push(client);
  return client;
}

/** Runs `use` with a gateway of the same platform with other settings. */
async function withGateway(env: Record<string, string>, use: (url: string) => Promise<void>): Promise<void> {
  const gateway = await startGateway({ ...platform.env('gateway'), DRAIN_SECONDS: '0', ...env });
  try {
    await use(gateway.url);
  } finally {
    for (const client of clients.splice(0)) client.end();
    await gateway.stop();
  }
}

const get = (key: string, url = platform.gatewayUrl) => rawRequest(url, 'GET', path, { key });

describe('an incomplete body', () => {
  it('does not delay a neighbor on the same module, however many such bodies there are', async () => {
    const slow = Array.from({ length: 400 }, (_none, index) => post(100, index % 2 ? account.key : account.testKey));
    await waitFor('the gateway to be ready for every body', () => slow.every((client) => client.isContinued), 20_000);
    for (const client of slow) client.send('{');
    const asked = Promise.all(Array.from({ length: 20 }, () => get(neighbor.key)));
    const responses = await waitFor('the responses', () => Promise.race([asked, undefined]));
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(service.seen.map(({ method }) => method)).toEqual(Array(20).fill('GET'));
    for (const client of slow) client.send('x'.repeat(99));
    await Promise.all(slow.map((client) => client.responseStatus()));
    expect(slow.filter(({ status }) => status === 200)).toHaveLength(400);
  });

  it('gets 408 with Connection: close, in memory or in a file', async () => {
    await withGateway({ BODY_WINDOW_SECONDS: '0.1' }, async (url) => {
      for (const client of [
        post(100, account.key, booking, url),
        post(2 * mebibyte, account.key, upload, url),
        new SlowClient(
          url,
          `POST ${booking} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.key}\r\nTransfer-Encoding: chunked\r\n\r\n`,
        ),
      ]) {
        clients.push(client);
        client.send('{');
        expect(await client.responseStatus()).toBe(408);
        expect(client.all).toMatch(/\r\nConnection: close\r\n/i);
        expect(client.all).toMatch(/\{"error":\{"code":"invalid_request","message":"[^"]+","field":"body"\}\}$/);
        await waitFor('the connection to be closed', () => client.isClosed);
      }
      expect(service.seen).toEqual([]);
    });
  });

  it('of a refused request does not hold its connection longer', async () => {
    await withGateway({ BODY_WINDOW_SECONDS: '0.1' }, async (url) => {
      const client = new SlowClient(url, `POST ${booking} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{`);
      expect(await client.responseStatus()).toBe(401);
      await waitFor('the connection to be closed', () => client.isClosed);
    });
  });
});

describe('20 bodies that are refused while their clients keep sending', () => {
  const [publicUrl, adminUrl] = [() => platform.gatewayUrl, () => platform.adminUrl];
  const body = Buffer.alloc(1_600_000, 'x');
  const chunked = Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);

  it.each<[number, string, () => string, string, () => string[]]>([
    [413, 'its size', publicUrl, booking, () => ['Host: x', `Authorization: Bearer ${account.key}`]],
    [401, 'its key', publicUrl, booking, () => ['Host: x']],
    [404, 'its path', publicUrl, '/v1/none', () => ['Host: x', `Authorization: Bearer ${account.key}`]],
    [405, 'its method', publicUrl, '/docs', () => ['Host: x']],
    [400, 'its head', publicUrl, booking, () => []],
    [413, 'its size', adminUrl, '/admin/accounts', () => ['Host: x', `Authorization: Bearer ${platform.adminToken}`]],
    [404, 'its path', adminUrl, '/none', () => ['Host: x', `Authorization: Bearer ${platform.adminToken}`]],
  ])(
    'each get %i for %s, and may send another request if they keep the connection',
    async (status, _why, url, target, headers) => {
      const send = async (index: number) => {
        const isChunked = index % 2 === 1;
        const lines = [
          ...headers(),
          'Content-Type: application/json',
          isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`,
          `Connection: ${index % 4 < 2 ? 'close' : 'keep-alive'}`,
          ...(index % 8 < 4 ? [] : ['Expect: 100-continue']),
        ];
        const client = new SlowClient(url(), [`POST ${target} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
        clients.push(client);
        const sent = isChunked ? chunked : body;
        for (let at = 0; at < sent.length; at += 65_536) {
          client.send(sent.subarray(at, at + 65_536));
          await new Promise(setImmediate);
        }
        const got = await client.responseStatus();
        client.send('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
        await waitFor('the connection to be closed', () => client.isClosed);
        if (lines.includes('Connection: keep-alive') && index % 8 < 4 && status !== 400)
          expect(client.all).toContain('HTTP/1.1 200');
        return got;
      };
      for (let round = 0; round < 3; round++)
        expect(await Promise.all(Array.from({ length: 20 }, (_none, index) => send(index)))).toEqual(
          Array(20).fill(status),
        );
    },
  );
});

it('the connection closes after more than 32 MiB of a refused body', async () => {
  const size = 96 * mebibyte;
  const client = new SlowClient(
    platform.gatewayUrl,
    `POST ${booking} HTTP/1.1\r\nHost: x\r\nContent-Length: ${size}\r\n\r\n`,
  );
  clients.push(client);
  expect(await client.responseStatus()).toBe(401);
  const piece = Buffer.alloc(mebibyte);
  for (let sent = 0; sent < size - mebibyte; sent += mebibyte) client.send(piece);
  await waitFor('the connection to be closed', () => client.isClosed);
});

describe('the memory for bodies', () => {
  it('is shared: an account with its sandbox gets a quarter, then 429, and a neighbor gets its own share', async () => {
    await withGateway({ BODY_MEMORY_MIB: '1' }, async (url) => {
      const slow = post(250_000, account.testKey, booking, url);
      await waitFor('the gateway to be ready', () => slow.isContinued);
      slow.send('x'.repeat(200_000));
      const send = (key: string) => rawRequest(url, 'POST', booking, { key, rawBody: 'x'.repeat(100_000) });
      const refused = await waitFor('a refusal', async () => {
        const response = await send(account.key);
        return response.status === 200 ? undefined : response;
      });
      expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limited']);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await send(neighbor.key)).status).toBe(200);
      expect((await get(account.key, url)).status).toBe(200);
      slow.send('x'.repeat(50_000));
      expect(await slow.responseStatus()).toBe(200);
      await waitFor('the memory to be free again', async () => (await send(account.key)).status === 200);
    });
  });

  it('is free again after clients disconnect in the middle of their bodies', async () => {
    await withGateway({ BODY_MEMORY_MIB: '1' }, async (url) => {
      for (let round = 0; round < 5; round++) {
        const gone = post(250_000, account.key, booking, url);
        await waitFor('the gateway to be ready', () => gone.isContinued);
        gone.send('x'.repeat(200_000));
        gone.end();
      }
      const send = () => rawRequest(url, 'POST', booking, { key: account.key, rawBody: 'x'.repeat(250_000) });
      await waitFor('the memory to be free', async () => (await send()).status === 200);
    });
  });
});

describe('a body', () => {
  const chunked = (text: string, key = account.key) => {
    const chunks = [...text].map((letter) => `1\r\n${letter}\r\n`).join('');
    const head = `POST ${booking} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const client = new SlowClient(platform.gatewayUrl, head + chunks);
    clients.push(client);
    return client;
  };
  const letters = (count: number) => Array.from({ length: count }, (_none, index) => String(index % 10)).join('');

  it('in 4,096 chunks of a byte arrives byte for byte, with its length', async () => {
    const text = letters(4_096);
    const client = chunked(text);
    client.send('0\r\n\r\n');
    expect(await client.responseStatus()).toBe(200);
    const [seen] = service.seen;
    expect(seen!.body === text).toBe(true);
    expect([seen!.headers['content-length'], seen!.headers['transfer-encoding']]).toEqual([
      String(text.length),
      undefined,
    ]);
  });
});

describe('an upload', () => {
  const content = Buffer.alloc(3 * mebibyte, 'file of three mebibytes ');

  it('is kept in an unlinked file until it is complete', async () => {
    const client = post(content.length, account.key, upload);
    await waitFor('the gateway to be ready', () => client.isContinued);
    client.send(content.subarray(0, 2 * mebibyte));
    expect((await get(account.key)).status).toBe(200);
    expect(service.seen.map(({ url }) => url)).toEqual([path]);
    expect(readdirSync(directory)).toEqual([]);
    client.send(content.subarray(2 * mebibyte));
    expect(await client.responseStatus()).toBe(200);
    const seen = service.seen.at(-1)!;
    expect([seen.url, seen.body === content.toString()]).toEqual([upload, true]);
  });

  it('waits if its account has four uploads in progress, and a neighbor does not', async () => {
    const keys = [account.key, account.testKey, account.key, account.testKey];
    const first = keys.map((key) => post(content.length, key, upload));
    await waitFor('four to be accepted', () => first.every((client) => client.isContinued));
    const fifth = post(content.length, account.key, upload);
    const other = post(content.length, neighbor.key, upload);
    await waitFor("the neighbor's to be accepted", () => other.isContinued);
    expect(fifth.isContinued).toBe(false);
    first[0]!.end();
    await waitFor('the fifth to be accepted', () => fifth.isContinued);
    for (const client of [fifth, other]) client.send(content);
    for (const client of [fifth, other]) expect(await client.responseStatus()).toBe(200);
  });

  it('gets 503 if no file can be created', async () => {
    await withGateway({ UPLOAD_DIRECTORY: join(directory, 'missing'), LOG_LEVEL: 'silent' }, async (url) => {
      const response = await rawRequest(url, 'POST', upload, { key: account.key, rawBody: content });
      expect([response.status, response.body.error.code]).toEqual([503, 'service_unavailable']);
    });
  });
});
