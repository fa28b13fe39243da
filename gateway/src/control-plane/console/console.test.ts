import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { consoleServer } from './console.ts';

describe('files of a console', () => {
  const directory = mkdtempSync(join(tmpdir(), 'console-files-'));
  const servers: Server[] = [];

  /** Starts a server for the files of a directory, which responds 401 to every other path. */
  async function serve(from: string): Promise<string> {
    const serveFile = consoleServer('staging-eu', from);
    const server = createServer((request, response) => {
      if (!serveFile(request, response)) response.writeHead(401).end();
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  beforeAll(() => {
    mkdirSync(join(directory, 'assets'));
    writeFileSync(
      join(directory, 'index.html'),
      '<!doctype html><title>Console</title><meta name="environment" content="">',
    );
    writeFileSync(join(directory, 'assets/index-abc.js'), 'console.log(1);');
    writeFileSync(join(directory, '.bootstrap-hash'), 'x');
  });

  afterAll(() => {
    for (const server of servers) server.close();
    rmSync(directory, { recursive: true });
  });

  it('have their content types and a policy that allows loads only from this origin; assets are immutable', async () => {
    const url = await serve(directory);
    const page = await fetch(url);
    expect(await page.text()).toContain('<title>Console</title><meta name="environment" content="staging-eu">');
    const { headers } = page;
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-cache');
    expect(headers.get('content-security-policy')).toContain("default-src 'self'");
    const asset = await fetch(`${url}/assets/index-abc.js`);
    expect(await asset.text()).toBe('console.log(1);');
    expect(asset.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(asset.headers.get('cache-control')).toContain('immutable');
    const again = await fetch(url, { headers: { 'if-none-match': headers.get('etag')! } });
    expect(again.status).toBe(304);
  });

  it('are only those of the directory, and are read-only', async () => {
    const url = await serve(directory);
    for (const path of ['/index.html', '/.bootstrap-hash', '/assets/', '/assets/..%2f..%2fetc/passwd', '/other']) {
      expect([path, (await fetch(`${url}${path}`)).status]).toEqual([path, 401]);
    }
    expect((await fetch(url, { method: 'POST' })).status).toBe(401);
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
  });

  it('that are not built are replaced by a page that says how to build them', async () => {
    const page = await fetch(await serve(join(directory, 'none')));
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('npm run build')]);
  });
});

describe('the control plane', () => {
  let platform: Platform;

  beforeAll(async () => {
    platform = await startPlatform({ services: [] });
  });

  afterAll(async () => {
    await platform?.stop();
  });

  it('serves only its root without the token', async () => {
    const root = await fetch(platform.adminUrl);
    const [id, sniffing] = ['request-id', 'x-content-type-options'].map((name) => root.headers.get(name));
    expect([root.status, id, sniffing]).toEqual([200, expect.any(String), 'nosniff']);
    for (const path of ['/queues', '/assets/none.js', '/admin/queues']) {
      expect([path, (await fetch(`${platform.adminUrl}${path}`)).status]).toEqual([path, 401]);
    }
  });
});
