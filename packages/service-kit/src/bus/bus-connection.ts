import { readFileSync } from 'node:fs';
import { type JetStreamClient, type JetStreamManager, jetstream } from '@nats-io/jetstream';
import { type ConnectionOptions, connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { serviceUnavailable } from '../database/database-errors.ts';
import type { Logger } from '../telemetry/logging.ts';
import { WakeLoop } from '../timing/wake-loop.ts';
import type { BaseConfig } from '../values/config.ts';
import { withTimeout } from '../values/with-timeout.ts';

/** Settings of a process that concern the bus: files with credentials, and what TLS takes, and bounds of the stream. */
export type BusSettings = Partial<BaseConfig>;

const dialTimeoutMs = 2_000;
const redialMs = 250;
/** Time that a connection has, when it is closed, to send what is under way. */
const drainMs = 5_000;

/** A connection to NATS, dialled in the background and again whenever it ends: a process serves what needs no bus meanwhile. */
export class BusConnection {
  readonly #log: Logger;
  readonly #setups: ((connection: NatsConnection) => void)[] = [];
  readonly #backs: (() => void)[] = [];
  readonly #loop: WakeLoop;
  #isStopping = false;
  #failures = 0;
  /** Undefined while there is none. */
  #connection: NatsConnection | undefined;

  /** Begins to dial. Throws where a file of the settings cannot be read or a URL is none. */
  constructor(urls: string, files: BusSettings, service: string, log: Logger) {
    this.#log = log;
    const servers = parseServers(urls);
    // The files are read at each dial: credentials and certificates are renewed while a process runs.
    const options = () => connectionOptions(servers, files, service);
    options();
    const pace = { everyMs: redialMs, slowestRetryMs: redialMs, log };
    this.#loop = new WakeLoop('connection to NATS', pace, () => this.#dial(options));
  }

  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  /** Returns the connection. Throws 503 service_unavailable while there is none. */
  get current(): NatsConnection {
    if (this.#connection) return this.#connection;
    throw serviceUnavailable('The service cannot reach its bus; try again shortly');
  }

  /** Returns the client of JetStream. Throws 503 service_unavailable while there is no connection. */
  get jetstream(): JetStreamClient {
    return jetstream(this.current);
  }

  /** Returns what manages JetStream. Throws 503 service_unavailable while there is no connection. */
  async manager(): Promise<JetStreamManager> {
    return await this.jetstream.jetstreamManager(false);
  }

  /** Runs `setup` with the connection, and with each that takes its place. */
  onConnection(setup: (connection: NatsConnection) => void): void {
    this.#setups.push(setup);
    if (this.#connection) setup(this.#connection);
  }

  /** Runs `back` whenever there is a connection after there was none: core messages of the time between were missed. */
  onBack(back: () => void): void {
    this.#backs.push(back);
  }

  /** Sends what is under way, for at most 5 s, and closes. */
  async close(): Promise<void> {
    this.#isStopping = true;
    const connection = this.#connection;
    if (connection) {
      // What the client waits for is never settled where the server is silent, not even by `close`; one that is lost has nothing more to send.
      await withTimeout(drainMs, connection.drain()).catch(() => undefined);
      if (!connection.isClosed()) await connection.close();
    }
    await this.#loop.stop();
  }

  /** Dials once, and serves the connection until it ends. */
  async #dial(options: () => ConnectionOptions): Promise<undefined> {
    try {
      const connection = await connect(options());
      this.#log.info('NATS is available');
      this.#failures = 0;
      // One of the addresses of a name may have failed, and the client goes on with the next on a connection that is closed.
      if (!connection.isClosed()) await this.#serve(connection);
    } catch (error) {
      this.#failures++;
      if (this.#failures === 1 || this.#failures % 100 === 0)
        this.#log.warn({ err: error, waiting_for: 'nats' }, 'NATS is unavailable; what needs the bus waits');
    }
  }

  async #serve(connection: NatsConnection): Promise<void> {
    this.#connection = connection;
    // Before it can be closed: who asks a closed connection for its status waits for ever.
    const statuses = connection.status();
    try {
      for (const setup of this.#setups) setup(connection);
      for (const back of this.#backs) back();
      if (this.#isStopping) void connection.close();
      for await (const status of statuses) {
        if (status.type === 'error') this.#log.error({ err: status.error }, 'NATS refused something');
        // The client would first wait until what it has written is gone, which a server that fell silent never takes.
        if (status.type === 'staleConnection') void connection.close();
      }
    } catch (error) {
      void connection.close();
      throw error;
    } finally {
      this.#connection = undefined;
    }
    const reason = await connection.closed();
    if (!this.#isStopping) this.#log.warn({ err: reason }, 'NATS is unavailable; events wait in the outbox');
  }
}

/** Throws where a file cannot be read. */
function connectionOptions(servers: BusServers, files: BusSettings, service: string): ConnectionOptions {
  const { NATS_CREDENTIALS_FILE, NATS_TLS_CA_FILE, NATS_TLS_CERT_FILE, NATS_TLS_KEY_FILE } = files;
  const content = (name: string, file: string | undefined) => (file ? { [name]: readFileSync(file, 'utf8') } : {});
  // Not by name: the client listens to no error of its socket while it reads them.
  const tls = {
    ...servers.tls,
    ...content('ca', NATS_TLS_CA_FILE),
    ...content('cert', NATS_TLS_CERT_FILE),
    ...content('key', NATS_TLS_KEY_FILE),
  };
  return {
    ...servers,
    ...(NATS_CREDENTIALS_FILE ? { authenticator: credsAuthenticator(readFileSync(NATS_CREDENTIALS_FILE)) } : {}),
    ...(servers.tls || Object.keys(tls).length > 0 ? { tls } : {}),
    name: service,
    // Only this service may subscribe there, and only services that it asks may publish there.
    inboxPrefix: `_INBOX.${service}.reply`,
    timeout: dialTimeoutMs,
    // A connection that ends is dialled anew by us.
    reconnect: false,
    pingInterval: 5_000,
    maxPingOut: 2,
    // Without it each publication makes an error with a stack, in case that it fails.
    noAsyncTraces: true,
  };
}

/** Servers of a bus as a setting names them; one with TLS has all dialled with it. */
type BusServers = Pick<ConnectionOptions, 'servers' | 'user' | 'pass' | 'tls'>;

/**
 * Reads a comma-separated list of servers, `nats://` where no scheme is given; user and password are those of the first that names them.
 * Throws where one is no URL of NATS.
 */
export function parseServers(list: string): BusServers {
  const urls = list.split(',').map((text) => new URL(text.includes('://') ? text.trim() : `nats://${text.trim()}`));
  const other = urls.find(({ protocol }) => protocol !== 'nats:' && protocol !== 'tls:');
  if (other) throw new Error(`NATS_URL must have URLs that begin with nats:// or tls://, not ${other.protocol}//`);
  const named = urls.find(({ username }) => username !== '');
  return {
    servers: urls.map(({ hostname, port }) => `${hostname}:${port || 4222}`),
    ...(named && { user: decodeURIComponent(named.username), pass: decodeURIComponent(named.password) }),
    ...(urls.some(({ protocol }) => protocol === 'tls:') && { tls: {} }),
  };
}
