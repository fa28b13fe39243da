import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** A TCP relay to a server that can be cut and restored, to simulate an outage of the network or the server. */
export interface Relay {
  /** The server's URL with the relay's address. */
  url: string;
  /** Closes every connection and refuses new ones. */
  cut(): void;
  /** Keeps connections open and forwards nothing. */
  stall(): void;
  /** Forwards nothing on existing connections; new ones work, as after a failover that closed no connection. */
  silence(): void;
  /** Forwards to the clients of existing connections a byte at a time, ten a second; new ones work. */
  trickle(): void;
  mend(): void;
  stop(): Promise<void>;
}

/** Starts a relay; `hear` gets what its clients send. */
export async function startRelay(serverUrl: string, hear: (sent: Buffer) => void = () => undefined): Promise<Relay> {
  const target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  const upstreams = new Set<Socket>();
  const silenced = new WeakSet<Socket>();
  /** Servers' sockets of which a byte is forwarded at a time, and what of them is being forwarded. */
  const trickling = new Map<Socket, { forwarded: Promise<void> }>();
  let state: 'open' | 'cut' | 'stalled' = 'open';
  const server = createServer((client) => {
    if (state === 'cut') {
      client.destroy();
      return;
    }
    client.on('data', hear);
    const upstream = connect(Number(target.port), target.hostname);
    upstreams.add(upstream);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        upstreams.delete(from);
        trickling.delete(from);
        to.destroy();
      });
      from.on('data', (chunk) => {
        if (state === 'stalled' || silenced.has(from)) return;
        const trickle = trickling.get(from);
        if (trickle) trickle.forwarded = trickle.forwarded.then(() => writeSlowly(to, chunk));
        else to.write(chunk);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(serverUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const endAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    cut: () => {
      state = 'cut';
      endAll();
    },
    stall: () => {
      state = 'stalled';
    },
    silence: () => {
      for (const socket of sockets) silenced.add(socket);
    },
    trickle: () => {
      for (const socket of upstreams) trickling.set(socket, { forwarded: Promise.resolve() });
    },
    mend: () => {
      if (state === 'stalled') endAll();
      state = 'open';
    },
    stop: async () => {
      endAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function writeSlowly(to: Socket, chunk: Buffer): Promise<void> {
  for (const byte of chunk) {
    await pause(100);
    if (to.destroyed) return;
    to.write(Buffer.of(byte));
  }
}
