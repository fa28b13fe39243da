import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createSocketServer, type Server, type Socket } from 'node:net';
import { parseAddressRanges } from '../src/address-ranges.ts';
import { createGetter, type Getter, type GetterOptions } from '../src/get.ts';
import { createPoster, type Poster, type PosterOptions } from '../src/post.ts';

const servers: Server[] = [];
const sockets = new Set<Socket>();
const clients: { close(): Promise<void> }[] = [];

/** Closes the servers and clients of a test. Every file that starts some calls this after each test. */
export async function closeLoopback(): Promise<void> {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await Promise.all(servers.splice(0).map((server) => new Promise((done) => server.close(done))));
}

/** Makes a server listen on a free port, or on `port`, and returns the port. */
export async function listen(server: Server, port = 0, address = '127.0.0.1'): Promise<number> {
  servers.push(server);
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((done) => server.listen(port, address, done));
  return (server.address() as AddressInfo).port;
}

/** Starts an HTTP server; `onConnection` is called for each of its connections. */
export async function serve(listener: RequestListener, onConnection: () => void = () => undefined): Promise<string> {
  return `http://127.0.0.1:${await listen(createServer(listener).on('connection', onConnection))}`;
}

/** Starts a TCP server whose protocol `onConnection` implements. */
export async function serveRaw(onConnection: (socket: Socket) => void): Promise<string> {
  return `http://127.0.0.1:${await listen(createSocketServer(onConnection))}`;
}

/** Starts a server that sends the same response to every request. */
export function respondWith(status: number, headers: Record<string, string> = {}, body: string | Buffer = '') {
  return serve((request, response) => {
    request.resume().on('end', () => response.writeHead(status, headers).end(body));
  });
}

/** Returns the URL of a server that has stopped. */
export async function stoppedServerUrl(): Promise<string> {
  const url = await respondWith(200);
  await new Promise((done) => servers.pop()!.close(done));
  return url;
}

/** Responds to a request with endless informational responses. */
export function respondWithHints(socket: Socket): void {
  respondEndlessly(socket, '', 'HTTP/1.1 103 Early Hints\r\n\r\n');
}

/** Responds to a request with the beginning of a chunk whose extension never ends. */
export function respondWithChunkWithoutEnd(socket: Socket): void {
  respondEndlessly(socket, 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;', 'x'.repeat(500));
}

function respondEndlessly(socket: Socket, head: string, repeated: string): void {
  const part = Buffer.from(repeated.repeat(100));
  const send = () => {
    while (!socket.destroyed && socket.write(part));
  };
  socket.on('drain', send).once('data', () => {
    socket.write(head);
    send();
  });
}

const loopback = {
  allowedRanges: parseAddressRanges('127.0.0.0/8'),
  resolve: async () => ['127.0.0.1'],
  timeoutMs: 20_000,
  maxSocketsPerPool: 10,
  maxSockets: 100,
};

export function poster(options: Partial<PosterOptions> = {}): Poster {
  const made = createPoster({ ...loopback, ...options });
  clients.push(made);
  return made;
}

export function getter(options: Partial<GetterOptions> = {}): Getter {
  const made = createGetter({ ...loopback, userAgent: 'reader/1.0', ...options });
  clients.push(made);
  return made;
}

/** Both ways to send a request. Each has its own client; the guarantees they share are tested once. */
export const methods = [
  [
    'GET',
    (options: Partial<GetterOptions & PosterOptions> = {}) => {
      const client = getter(options);
      return Object.assign((url: string, poolKey = 'key') => client.get({ poolKey, url }), client);
    },
  ],
  [
    'POST',
    (options: Partial<GetterOptions & PosterOptions> = {}) => {
      const client = poster(options);
      const post = (url: string, poolKey = 'key') => client.post({ poolKey, url, headers: {}, body: '{}' });
      return Object.assign(post, client);
    },
  ],
] as const;
