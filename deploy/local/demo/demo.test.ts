import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openDemo } from './demo.ts';

/** A gateway that accepts any key. Reusing an earlier account needs nothing else. */
let server: Server;
let gateway: string;
const directory = mkdtempSync(join(tmpdir(), 'demo-'));

beforeAll(async () => {
  server = createServer((_request, response) => response.end('{}'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  gateway = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  rmSync(directory, { recursive: true });
});

describe('the demo account of an earlier start', () => {
  it('is reused with the URLs of this start', async () => {
    const file = join(directory, 'demo.json');
    const earlier = {
      gateway: 'http://127.0.0.1:1',
      admin: 'http://127.0.0.1:2',
      admin_token: 'old',
      account: 'a',
      keys: { live: 'l', test: 't' },
      try: { contact: 'c', phone: '+4930901820', booking_type: 1 },
      whatsapp: { hook_url: 'http://127.0.0.1:1/hooks/messages/token', secret: 's' },
    };
    writeFileSync(file, JSON.stringify(earlier));
    const entrances = { gateway, admin: 'http://127.0.0.1:3', adminToken: 'new', simulated: 'http://127.0.0.1:4' };
    const demo = await openDemo(directory, entrances);
    const whatsapp = { hook_url: `${gateway}/hooks/messages/token`, secret: 's' };
    expect(demo).toEqual({ ...earlier, gateway, admin: entrances.admin, admin_token: 'new', whatsapp });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(demo);
    const { whatsapp: _whatsapp, ...without } = earlier;
    writeFileSync(file, JSON.stringify(without));
    expect(Object.keys(await openDemo(directory, entrances))).not.toContain('whatsapp');
  });
});
