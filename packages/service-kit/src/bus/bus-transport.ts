import { readFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { TlsOptions } from '@nats-io/transport-node';
import { NodeTransport } from '@nats-io/transport-node/lib/node_transport.js';
import { Handshake } from '../values/handshake.ts';

/** Time for a dial until the connection is encrypted. */
const dialMs = 2_000;
/** Length of a server's first line at most; it is some hundred bytes. */
const longestLine = 65_536;

/** The parts of that line that say where else the server can be reached. */
const elsewhere = ['connect_urls', 'ws_connect_urls'];

/** A server's first line, as far as it matters before anything is sent. */
interface Info extends Record<string, unknown> {
  tls_required?: unknown;
  tls_available?: unknown;
}

/**
 * Has NATS' client dial by `dial`, instead of by itself, and close a connection that is of no use: it listens to no error while it reads certificates, takes a first
 * line of any length, and forgets to close what it gives up. With TLS it believes what that line says, which comes before: whoever stands between could say that there
 * is no TLS or that other servers are to be dialled, and get the password, or add messages behind it.
 */
export function dialByOurselves(): void {
  NodeTransport.prototype.connect = async function connect(this: NodeTransport, server, options) {
    this.tlsName = server.tlsName;
    this.options = options;
    const { socket, read } = await dial(server, options.tls ?? undefined);
    if (this.done) {
      socket.destroy();
      throw new Error('the connection is not wanted any more');
    }
    this.socket = socket;
    this.yields = [read];
    this.connected = true;
    this.setupHandlers();
    this.signal.resolve();
  };
  // The client would first wait until what it has written is gone, which a server that fell silent does not take: it would never dial again.
  NodeTransport.prototype.disconnect = function disconnect(this: NodeTransport) {
    void this.close(new Error('NATS did not respond to pings'));
  };
  NodeTransport.prototype[Symbol.asyncIterator] = function frames(this: NodeTransport) {
    const read = this.iterate();
    // Called where a frame could not be read: nobody would read the next ones.
    const end = async () => {
      void this.close(new Error('what NATS sent could not be read'));
      return await read.return!(undefined);
    };
    return { next: () => read.next(), return: end, [Symbol.asyncIterator]: () => read };
  };
}

/**
 * Dials a server; returns the socket and what was read of it. Where TLS is asked for it is encrypted, and only the first line was read, without what may lead elsewhere.
 */
async function dial(server: { hostname: string; port: number; tlsName: string }, wanted: TlsOptions | undefined) {
  const tls = wanted && (await certificatesOf(wanted));
  const host = server.tlsName || server.hostname;
  const socket = createConnection(server.port, server.hostname).setNoDelay(true);
  const handshake = new Handshake(socket, host, dialMs);
  return await handshake.run(async () => {
    await handshake.connected();
    let read = Buffer.alloc(0);
    while (!read.includes('\n')) {
      if (read.length > longestLine) throw new Error(`the first line of ${host} does not end: it is no NATS`);
      read = Buffer.concat([read, await handshake.bytes()]);
    }
    const info = infoIn(read, host);
    const hasTls = info.tls_required === true || info.tls_available === true;
    if (!hasTls && !tls) return { socket, read };
    if (!hasTls) throw new Error('NATS did not begin TLS, which NATS_URL or NATS_TLS_CA_FILE asks for');
    const name = server.tlsName ? { servername: server.tlsName } : {};
    const secure = await handshake.encrypted({ ...name, ...tls });
    const said = Object.entries(info).filter(([key]) => !elsewhere.includes(key));
    return { socket: secure, read: Buffer.from(`INFO ${JSON.stringify(Object.fromEntries(said))}\r\n`) };
  });
}

/** Reads the files at each dial: they are renewed while a process runs. Before anything is dialled: nobody listens in between. */
async function certificatesOf({ caFile, certFile, keyFile, ...tls }: TlsOptions): Promise<ConnectionOptions> {
  const read = async (file: string | undefined) => (file ? await readFile(file) : undefined);
  const [ca, cert, key] = await Promise.all([read(caFile), read(certFile), read(keyFile)]);
  return { ...tls, ...(ca ? { ca } : {}), ...(cert ? { cert } : {}), ...(key ? { key } : {}) };
}

/** Returns what the first line says: `INFO {…}`. */
function infoIn(read: Buffer, host: string): Info {
  const line = read.subarray(0, read.indexOf('\n')).toString();
  const given = /^INFO\s/i.test(line) ? line.slice(4) : '';
  try {
    return JSON.parse(given) as Info;
  } catch (cause) {
    throw new Error(`the first line of ${host} is none of NATS`, { cause });
  }
}
