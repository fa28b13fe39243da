import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { DatabaseSync } from 'node:sqlite';
import { type Event, type Handle, openInbox } from './inbox.ts';
import { isGenuine } from './verify.ts';

export interface Settings {
  /** The endpoint's secret, whsec_…. */
  secret: string;
  /** File of the inbox. */
  file: string;
  /** Handles each event once; default: prints it. */
  handle?: Handle;
}

export interface Receiver {
  /** Server that does not listen yet. */
  server: Server;
  /** Closes connections and stops work. Waiting events stay in the inbox for the next start. */
  stop(): Promise<void>;
}

/** Larger than any event, which is at most 900 KiB plus the envelope. */
const maxBodyBytes = 1_048_576;
const forgetEveryMs = 86_400_000;
/** Pause after a write to the inbox failed, for example on a full disk. */
const brokenMs = 5_000;

/** Returns a receiver that stores deliveries in its inbox and handles all its events, including earlier ones. */
export function createReceiver({ secret, file, handle = print }: Settings): Receiver {
  const inbox = openInbox(file);
  let timer: NodeJS.Timeout | undefined;
  // One event per turn of the event loop, so that deliveries are accepted in between.
  const work = () => {
    let pauseMs: number | undefined = brokenMs;
    try {
      pauseMs = inbox.work(handle) ? 0 : inbox.dueInMs();
    } catch (error) {
      console.error('Cannot write to the inbox:', error);
    }
    timer = pauseMs === undefined ? undefined : setTimeout(work, Math.min(pauseMs, 60_000));
  };
  const wake = () => {
    clearTimeout(timer);
    timer = setTimeout(work, 0);
  };
  inbox.forget();
  const forgetting = setInterval(() => inbox.forget(), forgetEveryMs).unref();
  const limits = { requestTimeout: 15_000, headersTimeout: 10_000, connectionsCheckingInterval: 2_000 };
  const server = createServer(limits, (request, response) => {
    const take = async () => {
      const body = await readBody(request);
      if (typeof body === 'number') return body;
      if (!(await isGenuine(request.headers, body, secret))) return 401;
      inbox.add(String(request.headers['webhook-id']), body.toString());
      wake();
      return 204;
    };
    take().then(
      (status) => end(response, status),
      (error: unknown) => {
        // The platform retries the delivery.
        if (!request.errored) console.error('A delivery was not stored:', error);
        end(response, 500);
      },
    );
  });
  server.maxConnections = 200;
  wake();
  return {
    server,
    async stop() {
      clearTimeout(timer);
      clearInterval(forgetting);
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
      inbox.close();
    },
  };
}

/** Returns the raw body, or an error status. Does not read a request that cannot be a delivery. */
async function readBody(request: IncomingMessage): Promise<Buffer | number> {
  if (request.method !== 'POST') return 405;
  if (!request.headers['webhook-signature']) return 401;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes) return 413;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function end(response: ServerResponse, status: number): void {
  if (status !== 204) response.setHeader('Connection', 'close');
  response.writeHead(status).end();
}

/** Counts the events of each kind in the inbox's own database, and prints the event with that count. */
export function print({ id, type, timestamp, data }: Event, database: DatabaseSync): void {
  database.exec('create table if not exists counts (type text primary key, count integer not null) strict');
  const { count } = database
    .prepare('insert into counts values (?, 1) on conflict (type) do update set count = count + 1 returning count')
    .get(type) as { count: number };
  console.log(`${timestamp} ${type} (${count} of its kind here) ${id} ${JSON.stringify(data)}`);
}

if (import.meta.main) {
  const { WEBHOOK_SECRET, INBOX = 'inbox.sqlite', PORT = '9000' } = process.env;
  if (!WEBHOOK_SECRET?.startsWith('whsec_')) {
    console.error("Set WEBHOOK_SECRET to the endpoint's secret, whsec_…: see README.md");
    process.exit(2);
  }
  const receiver = createReceiver({ secret: WEBHOOK_SECRET, file: INBOX });
  receiver.server.once('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    console.error(`port ${PORT} is in use: set PORT to another port`);
    process.exit(1);
  });
  receiver.server.listen(Number(PORT), '127.0.0.1', () =>
    console.log(`Receiving webhooks at http://127.0.0.1:${PORT}/`),
  );
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void receiver.stop());
}
