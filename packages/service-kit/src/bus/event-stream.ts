import { type JetStreamManager, jetstreamManager, type StreamConfig } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import type { Logger } from '../telemetry/logging.ts';
import type { WakeLoop } from '../timing/wake-loop.ts';
import type { BaseConfig } from '../values/config.ts';
import type { BusConnection } from './bus-connection.ts';
import { duplicateWindowMs, findStream, retentionMs, StreamRoom } from './stream-room.ts';

/** The one service that changes a stream that is there: whoever may can also have it forget everybody's events. */
export const streamKeeper = 'gateway';

/** Bounds of the stream, those of NATS where one is left out. */
export type StreamBounds = Partial<Pick<BaseConfig, 'NATS_REPLICAS' | 'NATS_STREAM_MIB'>>;

/** The stream of all events of the installation. */
export class EventStream {
  readonly #connection: BusConnection;
  readonly #name: string;
  readonly #isKeeper: boolean;
  readonly #bounds: StreamBounds;
  readonly #log: Logger;
  readonly #room: WakeLoop | undefined;
  #ensured: Promise<void> | undefined;

  constructor(
    connection: BusConnection,
    { prefix, service, bounds, log }: { prefix: string; service: string; bounds: StreamBounds; log: Logger },
  ) {
    this.#connection = connection;
    this.#name = prefix;
    this.#isKeeper = service === streamKeeper;
    this.#bounds = bounds;
    this.#log = log;
    if (this.#isKeeper && bounds.NATS_STREAM_MIB !== undefined) {
      this.#room = new StreamRoom(connection, prefix, log).start();
    }
    connection.onConnection(() => {
      this.#ensured = undefined;
      // Others look for it when they need it.
      if (this.#isKeeper) this.ensure().catch((error: unknown) => log.debug({ err: error }, 'no stream of events yet'));
    });
  }

  /** Makes the stream where it is missing. Throws where NATS cannot, and tries again at the next call. */
  ensure(): Promise<void> {
    this.#ensured ??= this.#make();
    this.#ensured.catch(() => this.forget());
    return this.#ensured;
  }

  /** Has the next call look for the stream again. */
  forget(): void {
    this.#ensured = undefined;
  }

  /** Ends what it does by itself. To be called before the connection is closed. */
  async close(): Promise<void> {
    await this.#room?.stop();
  }

  async #make(): Promise<void> {
    const manager = await jetstreamManager(this.#connection.current, { checkAPI: false });
    // Made only where NATS says that there is none: of a cluster that cannot say it now, a new leader may not know of the one that there is.
    const found = await findStream(manager, this.#name);
    if (found) {
      if (this.#isKeeper) await this.#adjust(manager, found.config);
      return;
    }
    await manager.streams.add({
      name: this.#name,
      subjects: [`${this.#name}.event.>`],
      max_age: nanos(retentionMs),
      duplicate_window: nanos(duplicateWindowMs),
      ...this.#settings(),
    });
  }

  /** Applies the settings. A stream that cannot be changed now, such as while servers are unavailable, serves on as it is. */
  async #adjust(manager: JetStreamManager, config: StreamConfig): Promise<void> {
    const settings = this.#settings();
    const differs = Object.entries(settings).some(([name, value]) => config[name as keyof StreamConfig] !== value);
    if (!differs) return;
    await manager.streams.update(this.#name, { ...config, ...settings }).then(
      () => this.#log.info(settings, 'the stream of events has new settings'),
      (error: unknown) => this.#log.error({ err: error, ...settings }, 'the stream of events keeps its settings'),
    );
  }

  #settings() {
    const { NATS_REPLICAS, NATS_STREAM_MIB } = this.#bounds;
    return {
      // Of what a service publishes NATS sends the acknowledgement to any subject that it names, that of a purge too.
      deny_purge: true,
      ...(NATS_REPLICAS === undefined ? {} : { num_replicas: NATS_REPLICAS }),
      // Refused, not deleted: what was not taken yet would be lost. Without a bound nobody makes room, and its age is what it is for good.
      ...(NATS_STREAM_MIB === undefined
        ? { max_age: nanos(retentionMs) }
        : { max_bytes: NATS_STREAM_MIB * 1_048_576, discard: 'new' as const }),
    };
  }
}
