import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP relay to a server that can be cut and restored, to simulate network and server outages. */
export interface Relay {
  /** The server's URL with the relay's address. */
  url: string;
  /** Closes all connections and refuses new ones. */
  cut(): void;
  /** Keeps connections open but forwards nothing. */
  stall(): void;
  /** Stops forwarding on existing connections; new ones work, as after a failover that closed no connection. */
  silence(): void;
  mend(): void;
  stop(): Promise<void>;
}

/** Starts a relay to a server. */
export async function startRelay(serverUrl: string): Promise<Relay> {
  const target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  const silenced = new WeakSet<Socket>();
  let state: 'open' | 'cut' | 'stalled' = 'open';
  const server = createServer((client) => {
    if (state === 'cut') {
      client.destroy();
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.on('data', (chunk) => {
        if (state !== 'stalled' && !silenced.has(from)) to.write(chunk);
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
