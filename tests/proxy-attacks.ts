import { once } from 'node:events';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { parentPort, workerData } from 'node:worker_threads';
import type { Attack, Attackers } from './proxy-attackers.ts';

/** Runs one attack in a separate thread, so that it does not slow the measuring thread. Reports its progress after each change. */
const { attack, url, addresses, connections, key, certificate } = workerData as Attackers;
const { hostname, port } = new URL(url);
const auth = key === undefined ? '' : `Authorization: Bearer ${key}\r\n`;
const head = (line: string, more = '') => `${line} HTTP/1.1\r\nHost: x\r\n${auth}${more}`;
const state = { begun: 0, ended: 0 };
const say = () => parentPort!.postMessage(state);

/** Pipelined requests per connection: nginx's maximum. */
const pipelined = 1_000;

const attacks: Record<Attack, (socket: TLSSocket, again: () => void) => void> = {
  'slow heads': (socket) => {
    socket.write(head('GET /v1/me', 'X-Slow: '));
    dribble(socket);
  },
  'slow bodies': (socket) => {
    socket.write(head('POST /v1/cdp/contacts', 'Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n'));
    dribble(socket);
  },
  'unread responses': (socket) => {
    socket.write(head('GET /v1/cdp/contacts?limit=100', '\r\n').repeat(20));
    // Stops reading after the first bytes.
    socket.once('data', () => {
      socket.pause();
      begin();
    });
  },
  'pipelined requests': (socket, again) => {
    socket.once('data', begin).resume();
    socket.write(head('GET /v1/cdp/audiences?limit=1', '\r\n').repeat(pipelined));
    socket.once('close', again);
  },
};

function begin(): void {
  state.begun++;
  say();
}

/** Sends a byte a second. */
function dribble(socket: TLSSocket): void {
  begin();
  socket.resume();
  const timer = setInterval(() => socket.write('x'), 1_000);
  socket.once('close', () => clearInterval(timer));
}

function open(localAddress: string): void {
  const options: ConnectionOptions & { localAddress: string } = {
    host: hostname,
    port: Number(port),
    localAddress,
    ...(certificate === undefined ? {} : { ca: certificate }),
  };
  const socket = connect(options);
  socket.on('error', () => undefined);
  socket.once('close', () => {
    state.ended++;
    say();
  });
  void once(socket, 'secureConnect').then(
    () => attacks[attack](socket, () => open(localAddress)),
    () => undefined,
  );
}

for (let index = 0; index < connections; index++) open(addresses[index % addresses.length]!);
