import {
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import type { Logger } from '../telemetry/logging.ts';
import { meter } from '../telemetry/meter.ts';
import type { BusConnection, BusSettings } from './bus-connection.ts';

/** Retention of the stream: a service that was down for less misses no event. */
const retentionMs = 7 * 24 * 3_600_000;
/** Window in which the stream recognises a message id that it has. */
const duplicateWindowMs = 2 * 60_000;

const gauges = {
  'bus.stream.fullness': {
    description: 'Part of its bound that the stream of events has; what is full loses its oldest.',
  },
};

/** The one service that changes a stream that is there: whoever may can also have it forget everybody's events. */
export const streamKeeper = 'gateway';

/** The stream of all events of the installation. */
export class EventStream {
  readonly #connection: BusConnection;
  readonly #name: string;
  readonly #isKeeper: boolean;
  readonly #settings: BusSettings;
  readonly #log: Logger;
  readonly #endGauge: () => void;
  #ensured: Promise<void> | undefined;

  constructor(
    connection: BusConnection,
    { prefix, service, settings = {}, log }: { prefix: string; service: string; settings?: BusSettings; log: Logger },
  ) {
    this.#connection = connection;
    this.#name = prefix;
    this.#isKeeper = service === streamKeeper;
    this.#settings = settings;
    this.#log = log;
    this.#endGauge = this.#isKeeper
      ? meter.observe(gauges, async (observe) => {
          const { state, config } = (await this.#find()) ?? {};
          const { info } = connection.current;
          const nats = info?.cluster ?? info?.server_name;
          if (state && config && config.max_bytes > 0)
            observe('bus.stream.fullness', state.bytes / config.max_bytes, { nats });
        })
      : () => undefined;
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

  /** Ends its metric. */
  close(): void {
    this.#endGauge();
  }

  async #make(): Promise<void> {
    // Made only where NATS says that there is none: of a cluster that cannot say it now, a new leader may not know of the one that there is.
    const found = await this.#find();
    const { streams } = await this.#connection.manager();
    if (found && this.#isKeeper) await this.#adjust(streams, found.config);
    if (found) return;
    const subjects = [`${this.#name}.event.>`];
    await streams.add({ name: this.#name, subjects, duplicate_window: nanos(duplicateWindowMs), ...this.#bounds() });
  }

  /** Returns the stream; undefined where NATS says that there is none. Throws where it cannot say. */
  async #find(): Promise<StreamInfo | undefined> {
    try {
      return await (await this.#connection.manager()).streams.info(this.#name);
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return undefined;
      throw error;
    }
  }

  /** Applies the settings. A stream that cannot be changed now, such as while servers are unavailable, serves on as it is. */
  async #adjust(streams: JetStreamManager['streams'], config: StreamConfig): Promise<void> {
    const settings = this.#bounds();
    const differs = Object.entries(settings).some(([name, value]) => config[name as keyof StreamConfig] !== value);
    if (!differs) return;
    const keeps = (error: unknown) =>
      this.#log.error({ err: error, ...settings }, 'the stream of events keeps its settings');
    const has = () => this.#log.info(settings, 'the stream of events has new settings');
    await streams.update(this.#name, { ...config, ...settings }).then(has, keeps);
  }

  /** The bounds of the stream, those of NATS where a setting is left out. */
  #bounds() {
    const { NATS_REPLICAS, NATS_STREAM_MIB } = this.#settings;
    return {
      // Of what a service publishes NATS sends the acknowledgement to any subject that it names, that of a purge too.
      deny_purge: true,
      ...(NATS_REPLICAS === undefined ? {} : { num_replicas: NATS_REPLICAS }),
      max_age: nanos(retentionMs),
      // The oldest go: one customer who fills the stream stops nobody. Services have their own events of seven days, to send them again.
      ...(NATS_STREAM_MIB === undefined ? {} : { max_bytes: NATS_STREAM_MIB * 1_048_576, discard: 'old' as const }),
    };
  }
}
