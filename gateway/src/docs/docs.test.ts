import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { operations } from '@customer-platform/contracts';
import { type Platform, rawRequest, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startGateway } from '../main.ts';

let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform({ services: [] });
});

afterAll(async () => {
  await platform?.stop();
});

const get = (path: string, headers: Record<string, string> = {}) =>
  rawRequest(platform.gatewayUrl, 'GET', path, { headers });

describe('without a key', () => {
  it('the OpenAPI document has every operation with its scope', async () => {
    const { status, body, headers } = await get('/v1/openapi.json');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('application/json');
    expect(body.openapi).toMatch(/^3\.1/);
    for (const operation of operations) {
      const described = body.paths[operation.path][operation.method.toLowerCase()];
      expect([described.operationId, described['x-scope']]).toEqual([operation.key, operation.scope]);
    }
    expect(body.components.parameters.IdempotencyKey.description).toMatch(/24 hours/);
  });

  it('the document is not sent again to a client that has it', async () => {
    const etag = (await get('/v1/openapi.json')).headers.get('etag')!;
    const again = await get('/v1/openapi.json', { 'if-none-match': etag });
    expect([again.status, again.text]).toEqual([304, '']);
    expect((await get('/v1/openapi.json', { 'if-none-match': '"other"' })).status).toBe(200);
  });

  it('the page gets no key unless the operator provided one', async () => {
    expect((await get('/docs/key.json')).body).toEqual({});
  });

  it('no other path exists', async () => {
    for (const path of ['/docsx', '/v1/openapi.yaml', '/v1/openapi.json/', '/'])
      expect([path, (await get(path)).status]).toEqual([path, 401]);
    expect((await get('/')).body.error.message).toMatch(/see \/docs/);
  });

  it('a browser is redirected from the root to the documentation', async () => {
    const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
    for (const sent of [accept, 'application/json, Text/HTML;level=1']) {
      const led = await get('/', { accept: sent });
      expect([led.status, led.headers.get('location'), led.text]).toEqual([302, '/docs', '']);
      expect(led.headers.get('request-id')).toMatch(/^[0-9a-f-]{36}$/);
    }
    const head = await rawRequest(platform.gatewayUrl, 'HEAD', '/?utm_source=x', { headers: { accept } });
    expect([head.status, head.headers.get('location')]).toEqual([302, '/docs']);
  });

  it('the root is an unknown path to other clients', async () => {
    const { key } = await platform.account();
    for (const accept of ['*/*', 'application/json', 'text/*', 'x/text/html', 'text/htmlx', '']) {
      const refused = await rawRequest(platform.gatewayUrl, 'GET', '/', { key, headers: { accept } });
      expect([accept, refused.status, refused.body.error.code]).toEqual([accept, 404, 'not_found']);
    }
    const posted = await rawRequest(platform.gatewayUrl, 'POST', '/', { key, headers: { accept: 'text/html' } });
    expect([posted.status, posted.body.error.code]).toEqual([404, 'not_found']);
    expect((await get('/v1', { accept: 'text/html' })).status).toBe(401);
  });

  it('a path is read-only, with or without a key', async () => {
    const { key } = await platform.account();
    for (const path of ['/v1/openapi.json', '/docs/key.json', '/healthz', '/readyz', '/healthz?x=1']) {
      for (const sent of [{}, { key }]) {
        const ask = (method: string) => rawRequest(platform.gatewayUrl, method, path, sent);
        for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
          const refused = await ask(method);
          expect([path, method, refused.status, refused.body.error.code]).toEqual([
            path,
            method,
            405,
            'invalid_request',
          ]);
          expect(refused.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
        }
        const options = await ask('OPTIONS');
        expect([options.status, options.text, options.headers.get('allow')]).toEqual([204, '', 'GET, HEAD, OPTIONS']);
        expect([(await ask('GET')).status, (await ask('HEAD')).status]).toEqual([200, 200]);
      }
    }
    for (const path of ['/healthzz', '/readyz/'])
      expect([path, (await rawRequest(platform.gatewayUrl, 'POST', path, { key })).status]).toEqual([path, 404]);
  });
});

it('the page gets a key that acts on a sandbox, and never a live one', async () => {
  const keyFile = join(tmpdir(), `docs-key-${process.pid}-${Date.now()}`);
  const { key, testKey } = await platform.account();
  const gateway = await startGateway({ ...platform.env('gateway'), DOCS_KEY_FILE: keyFile });
  try {
    const shown = async () => (await rawRequest(gateway.url, 'GET', '/docs/key.json')).body;
    expect(await shown()).toEqual({});
    writeFileSync(keyFile, key);
    expect(await shown()).toEqual({});
    writeFileSync(keyFile, `${testKey}\n`);
    expect(await shown()).toEqual({ key: testKey });
  } finally {
    rmSync(keyFile, { force: true });
    await gateway.stop();
  }
});

describe('/readyz', () => {
  it('is 503 until the launcher creates the ready file, while /healthz is 200', async () => {
    const readyFile = join(tmpdir(), `ready-${process.pid}-${Date.now()}`);
    expect(existsSync(readyFile)).toBe(false);
    const gateway = await startGateway({ ...platform.env('gateway'), READY_FILE: readyFile });
    try {
      const ask = async (path: string) => (await rawRequest(gateway.url, 'GET', path)).status;
      expect(await ask('/healthz')).toBe(200);
      expect(await ask('/readyz')).toBe(503);
      expect((await rawRequest(gateway.adminUrl, 'GET', '/readyz')).status).toBe(200);
      writeFileSync(readyFile, '');
      expect(await ask('/readyz')).toBe(200);
    } finally {
      rmSync(readyFile, { force: true });
      await gateway.stop();
    }
  });
});
