import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Platform, rawRequest, startPlatform, waitFor } from '@customer-platform/testkit';
import { type StandInService, startStandIn } from '@customer-platform/testkit/stand-in-service';
import { afterEach, beforeEach, expect, it } from '@jest/globals';

let directory: string;
let main: StandInService;
let east: StandInService;
let platform: Platform;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cells-'));
  [main, east] = [await startStandIn(), await startStandIn()];
  const file = join(directory, 'cells.json');
  const described = { east: { services: { messaging: east.url }, nats: { url: process.env.TEST_NATS_URL! } } };
  writeFileSync(file, JSON.stringify(described));
  platform = await startPlatform({ services: [], env: { MESSAGING_URL: main.url, CELLS: file, DRAIN_SECONDS: '0' } });
});
afterEach(async () => {
  await platform?.stop();
  await Promise.all([main?.stop(), east?.stop()]);
  rmSync(directory, { recursive: true });
});

const hook = async (token: string) =>
  (await rawRequest(platform.gatewayUrl, 'POST', `/hooks/messages/${token}`, { rawBody: '{}' })).status;

/** Has a service find this token alone. */
function serve(service: StandInService, token: string): void {
  service.respond = ({ url }, response) => {
    response.writeHead(url.startsWith(`/hooks/messages/${token}`) ? 200 : 404).end();
  };
}

const calls = (service: StandInService) => service.seen.filter(({ method }) => method === 'POST').map(({ url }) => url);

it('goes to the cell that has its token, and is 404 where none has', async () => {
  serve(main, 'ours');
  serve(east, 'theirs');
  expect([await hook('theirs'), await hook('ours'), await hook('nobodys')]).toEqual([200, 200, 404]);
  expect(calls(main)).toEqual(['/hooks/messages/ours']);
  expect(calls(east)).toEqual(['/hooks/messages/theirs']);
});

it('goes on while another cell is gone; what that may have is 503', async () => {
  serve(main, 'ours');
  await east.stop();
  expect([await hook('ours'), await hook('ours'), await hook('theirs')]).toEqual([200, 200, 503]);
});

it.each([204, 302, 403])('goes to no cell in whose place something responds to everything with %i', async (status) => {
  east.respond = (_seen, response) => response.writeHead(status).end();
  main.respond = async ({ method, url }, response) => {
    // Later than the other, which would be believed if it could.
    if (method === 'HEAD') await waitFor('the other to be asked', () => east.seen.length > 0);
    response.writeHead(url === '/hooks/messages/ours' ? 200 : 404).end();
  };
  expect(await hook('ours')).toBe(200);
  expect([calls(main), calls(east)]).toEqual([['/hooks/messages/ours'], []]);
  expect(await hook('theirs')).toBe(503);
});
