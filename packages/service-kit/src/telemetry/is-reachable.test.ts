import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import { isReachable } from './is-reachable.ts';

it('says whether something listens at a URL', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  expect(await isReachable(`http://127.0.0.1:${port}/v1/traces`)).toBe(true);
  await new Promise((resolve) => server.close(resolve));
  expect(await isReachable(`http://127.0.0.1:${port}/v1/traces`)).toBe(false);
  expect(await isReachable('http://[::1]:1')).toBe(false);
  expect(await isReachable('collector:4318')).toBe(false);
});
