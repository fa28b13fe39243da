import { randomInt } from 'node:crypto';
import { connect, createServer, type ListenOptions, type Server } from 'node:net';

/** Returns whether a TCP port of 127.0.0.1 is free now. */
export async function portIsFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  const server = createServer();
  const isFree = await listens(server, { port, host, exclusive: true });
  if (isFree) await new Promise((resolve) => server.close(resolve));
  return isFree;
}

/**
 * Returns a free port of 127.0.0.1 below the ephemeral range, so that no outgoing connection takes it. No other call returns the port while
 * this process lives, because its server starts seconds later and releases the port briefly at each restart.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const port = randomInt(20_000, 32_000);
    if ((await reserve(port)) && (await portIsFree(port))) return port;
  }
  throw new Error('no free TCP port between 20000 and 32000 on 127.0.0.1: stop a program that listens there');
}

const reserved = new Set<number>();

/**
 * Returns whether this process has reserved the port. On Linux an abstract socket shows the reservation to other processes. It closes when
 * its process exits and leaves no file.
 */
async function reserve(port: number): Promise<boolean> {
  if (process.platform === 'linux')
    return await listens(createServer().unref(), { path: `\0customer-platform-port-${port}` });
  const isNew = !reserved.has(port);
  reserved.add(port);
  return isNew;
}

function listens(server: Server, at: ListenOptions): Promise<boolean> {
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(at, () => resolve(true));
  });
}

/**
 * Writes `send` to a server on 127.0.0.1 and returns its first line. Returns null when the server refuses, closes or is
 * silent for timeoutMs.
 */
export function firstLine(port: number, send: string, timeoutMs = 1_000): Promise<string | null> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ port, host: '127.0.0.1', timeout: timeoutMs });
    const done = (line: string | null) => {
      socket.destroy();
      resolve(line);
    };
    socket.on('connect', () => send !== '' && socket.write(send));
    socket.on('data', (chunk) => {
      text += chunk.toString('utf8');
      const end = text.indexOf('\r\n');
      if (end >= 0) done(text.slice(0, end));
    });
    socket.on('timeout', () => done(null));
    socket.on('error', () => done(null));
    socket.on('close', () => done(null));
  });
}
