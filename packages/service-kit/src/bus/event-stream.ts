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

/** Retention of the stream. A service that is down for less time misses no event. */
const retentionMs = 7 * 24 * 3_600_000;
/** Window in which the stream recognizes the id of a stored message. */
const duplicateWindowMs = 2 * 60_000;

const gauges = {
  'bus.stream.fullness': {
    description: 'Share of its size limit that the event stream uses; a full stream drops its oldest events.',
  },
};

/** The only service that may change an existing stream. A service with that permission can delete the events of all accounts. */
export const streamOwner = 'gateway';

/** The stream of all events of an installation. */
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
    this.#isKeeper = service === streamOwner;
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
      // Other services look for the stream when they need it.
      if (this.#isKeeper) this.ensure().catch((error: unknown) => log.debug({ err: error }, 'no event stream yet'));
    });
  }

  /** Creates the stream if missing. Throws if NATS cannot; the next call tries again. */
  ensure(): Promise<void> {
    this.#ensured ??= this.#make();
    this.#ensured.catch(() => this.forget());
    return this.#ensured;
  }

  /** Makes the next call look for the stream again. */
  forget(): void {
    this.#ensured = undefined;
  }

  /** Stops the stream's metric. */
  close(): void {
    this.#endGauge();
  }

  async #make(): Promise<void> {
    // Creates the stream only if NATS says that none exists. Without a quorum, a new leader may not know of the existing stream.
    const found = await this.#find();
    const { streams } = await this.#connection.manager();
    if (found && this.#isKeeper) await this.#adjust(streams, found.config);
    if (found) return;
    const subjects = [`${this.#name}.event.>`];
    await streams.add({ name: this.#name, subjects, duplicate_window: nanos(duplicateWindowMs), ...this.#bounds() });
  }

  /** Returns the stream; undefined if NATS says that none exists. Throws if NATS cannot say. */
  async #find(): Promise<StreamInfo | undefined> {
    try {
      return await (await this.#connection.manager()).streams.info(this.#name);
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return undefined;
      throw error;
    }
  }

  /** Applies the settings. If NATS cannot update the stream now, for example while servers are down, the stream keeps its settings. */
  async #adjust(streams: JetStreamManager['streams'], config: StreamConfig): Promise<void> {
    const settings = this.#bounds();
    const differs = Object.entries(settings).some(([name, value]) => config[name as keyof StreamConfig] !== value);
    if (!differs) return;
    const failed = (error: unknown) =>
      this.#log.error({ err: error, ...settings }, 'the event stream could not be updated and keeps its settings');
    const updated = () => this.#log.info(settings, 'the event stream has new settings');
    await streams.update(this.#name, { ...config, ...settings }).then(updated, failed);
  }

  /** Returns the limits of the stream. NATS applies its own default for an omitted setting. */
  #bounds() {
    const { NATS_REPLICAS, NATS_STREAM_MIB } = this.#settings;
    return {
      // NATS sends a publication's acknowledgement to any subject that the publisher names, even the API's purge subject.
      deny_purge: true,
      ...(NATS_REPLICAS === undefined ? {} : { num_replicas: NATS_REPLICAS }),
      max_age: nanos(retentionMs),
      // A full stream drops its oldest events, so one account cannot block the others. Each service keeps its events for seven days to resend.
      ...(NATS_STREAM_MIB === undefined ? {} : { max_bytes: NATS_STREAM_MIB * 1_048_576, discard: 'old' as const }),
    };
  }
}
