import { readFileSync } from 'node:fs';
import { type JetStreamClient, type JetStreamManager, jetstream } from '@nats-io/jetstream';
import { type ConnectionOptions, connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { serviceUnavailable } from '../database/database-errors.ts';
import type { Logger } from '../telemetry/logging.ts';
import { WakeLoop } from '../timing/wake-loop.ts';
import type { BaseConfig } from '../values/config.ts';
import { withTimeout } from '../values/with-timeout.ts';

/** Settings for the connection to the bus: files with credentials and TLS keys, and the limits of the stream. */
export type BusSettings = Partial<BaseConfig>;

const connectTimeoutMs = 2_000;
const reconnectMs = 250;
/** Time for a closing connection to send pending data. */
const drainMs = 5_000;

/** A connection to NATS, opened in the background and reopened whenever it ends. The process runs without it meanwhile. */
export class BusConnection {
  readonly #log: Logger;
  readonly #setups: ((connection: NatsConnection) => void)[] = [];
  readonly #backs: (() => void)[] = [];
  readonly #loop: WakeLoop;
  #isStopping = false;
  #failures = 0;
  /** Undefined while disconnected. */
  #connection: NatsConnection | undefined;

  /** Starts to connect in the background. Throws if a configured file cannot be read or a URL is invalid. */
  constructor(urls: string, files: BusSettings, service: string, log: Logger) {
    this.#log = log;
    const servers = parseServers(urls);
    // Reads the files at each connection attempt, since credentials and certificates are renewed while a process runs.
    const options = () => connectionOptions(servers, files, service);
    options();
    const pace = { everyMs: reconnectMs, slowestRetryMs: reconnectMs, log };
    this.#loop = new WakeLoop('connection to NATS', pace, () => this.#connect(options));
  }

  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  /** Returns the connection. Throws 503 service_unavailable while disconnected. */
  get current(): NatsConnection {
    if (this.#connection) return this.#connection;
    throw serviceUnavailable('The service cannot reach its bus; try again shortly');
  }

  /** Returns the JetStream client. Throws 503 service_unavailable while disconnected. */
  get jetstream(): JetStreamClient {
    return jetstream(this.current);
  }

  /** Returns the JetStream manager. Throws 503 service_unavailable while disconnected. */
  async manager(): Promise<JetStreamManager> {
    return await this.jetstream.jetstreamManager(false);
  }

  /** Runs `setup` with the current connection and with each later one. */
  onConnection(setup: (connection: NatsConnection) => void): void {
    this.#setups.push(setup);
    if (this.#connection) setup(this.#connection);
  }

  /** Runs `back` on each new connection. Core messages published since the last connection are lost. */
  onReconnect(back: () => void): void {
    this.#backs.push(back);
  }

  /** Sends pending data for at most 5 s, then closes. */
  async close(): Promise<void> {
    this.#isStopping = true;
    const connection = this.#connection;
    if (connection) {
      // If the server is silent, the client's promises never settle, even after `close`. A lost connection has nothing to send.
      await withTimeout(drainMs, connection.drain()).catch(() => undefined);
      if (!connection.isClosed()) await connection.close();
    }
    await this.#loop.stop();
  }

  /** Makes one connection attempt and serves the connection until it ends. */
  async #connect(options: () => ConnectionOptions): Promise<undefined> {
    try {
      const connection = await connect(options());
      this.#log.info('NATS is available');
      this.#failures = 0;
      // If one address of a host name fails, the client may continue with the next one on a closed connection.
      if (!connection.isClosed()) await this.#serve(connection);
    } catch (error) {
      this.#failures++;
      if (this.#failures === 1 || this.#failures % 100 === 0)
        this.#log.warn({ err: error, waiting_for: 'nats' }, 'NATS is unavailable; connection attempts continue');
    }
  }

  async #serve(connection: NatsConnection): Promise<void> {
    this.#connection = connection;
    // Must run before the connection can close: on a closed connection the status iterator never ends.
    const statuses = connection.status();
    try {
      for (const setup of this.#setups) setup(connection);
      for (const back of this.#backs) back();
      if (this.#isStopping) void connection.close();
      for await (const status of statuses) {
        if (status.type === 'error') this.#log.error({ err: status.error }, 'NATS reported an error');
        // Otherwise the client first flushes its buffer, which never completes when the server is silent.
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

/** Returns the options for one connection attempt. Throws if a file cannot be read. */
function connectionOptions(servers: BusServers, files: BusSettings, service: string): ConnectionOptions {
  const { NATS_CREDENTIALS_FILE, NATS_TLS_CA_FILE, NATS_TLS_CERT_FILE, NATS_TLS_KEY_FILE } = files;
  const content = (name: string, file: string | undefined) => (file ? { [name]: readFileSync(file, 'utf8') } : {});
  // Passes contents, not paths: the client has no error listener on its socket while it reads the files.
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
    // Only this service may subscribe to this prefix. Only services that it asks may publish to it.
    inboxPrefix: `_INBOX.${service}.reply`,
    timeout: connectTimeoutMs,
    // BusConnection reconnects by itself.
    reconnect: false,
    pingInterval: 5_000,
    maxPingOut: 2,
    // Without this option the client creates an error with a stack trace for every publication.
    noAsyncTraces: true,
  };
}

/** NATS servers from a setting. If one uses TLS, the client uses TLS for all. */
type BusServers = Pick<ConnectionOptions, 'servers' | 'user' | 'pass' | 'tls'>;

/**
 * Reads a comma-separated list of servers; the default scheme is `nats://`. User and password come from the first URL that has them.
 * Throws if an entry is not a `nats://` or `tls://` URL.
 */
export function parseServers(list: string): BusServers {
  const urls = list.split(',').map((text) => new URL(text.includes('://') ? text.trim() : `nats://${text.trim()}`));
  const other = urls.find(({ protocol }) => protocol !== 'nats:' && protocol !== 'tls:');
  if (other) throw new Error(`NATS_URL must contain only nats:// and tls:// URLs, not ${other.protocol}//`);
  const named = urls.find(({ username }) => username !== '');
  return {
    servers: urls.map(({ hostname, port }) => `${hostname}:${port || 4222}`),
    ...(named && { user: decodeURIComponent(named.username), pass: decodeURIComponent(named.password) }),
    ...(urls.some(({ protocol }) => protocol === 'tls:') && { tls: {} }),
  };
}
