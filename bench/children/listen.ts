import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Listens on a free port of the loopback address and prints its URL; exits when its standard input ends. */
export function listenAndTell(handler: RequestListener): void {
  process.stdin.resume().on('end', () => process.exit());
  const server = createServer({ keepAliveTimeout: 75_000 }, handler);
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
}
