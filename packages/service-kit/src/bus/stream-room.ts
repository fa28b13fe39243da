import {
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import type { Logger } from '../telemetry/logging.ts';
import { WakeLoop } from '../timing/wake-loop.ts';
import type { BusConnection } from './bus-connection.ts';

/** Retention of the stream: a service that was down for less misses no event. */
export const retentionMs = 7 * 24 * 3_600_000;
/** Window in which the stream recognises a message id that it has. */
export const duplicateWindowMs = 2 * 60_000;

const everyMs = 60_000;
/** Fullness from which room is made. */
const fullFrom = 1 / 2;
/** Marks that are kept: those of a day. */
const maxMarks = 24 * 60;
/** Time that the stream has to delete what is older than it keeps. */
const deletionMs = 10_000;
const pauseMs = 250;

/** Returns a stream; undefined where NATS says that there is none. Throws where it cannot say. */
export async function findStream(manager: JetStreamManager, name: string): Promise<StreamInfo | undefined> {
  try {
    return await manager.streams.info(name);
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return undefined;
    throw error;
  }
}

/** Last sequence of the stream at a time: what came before that has no higher one. */
interface Mark {
  lastSequence: number;
  atMs: number;
}

/** Bounds of what is kept in any case. */
interface KeptBounds {
  /** Time before a mark whose events stay with those after it: longer than it takes to change the stream and change it back. */
  slackMs: number;
  /** Youngest age that is ever deleted; NATS takes none below its window for duplicates. */
  leastMs: number;
}

/**
 * Makes room in the stream of events where it has a bound and is half full: deletes the oldest events, of those that every consumer has finished. The
 * bound refuses new events of everybody, and one customer's can fill it; each service has its own of the last seven days, to send them again.
 *
 * NATS deletes by age alone what it must not purge: the stream keeps events for a shorter time, for as long as that takes.
 */
export class StreamRoom {
  readonly #connection: BusConnection;
  readonly #name: string;
  readonly #log: Logger;
  readonly #kept: KeptBounds;
  readonly #marks: Mark[] = [];

  constructor(
    connection: BusConnection,
    name: string,
    log: Logger,
    kept: KeptBounds = { slackMs: 60_000, leastMs: 2 * duplicateWindowMs },
  ) {
    this.#connection = connection;
    this.#name = name;
    this.#log = log;
    this.#kept = kept;
  }

  /** Looks every minute, until it is stopped. */
  start(): WakeLoop {
    const pace = { everyMs, slowestRetryMs: everyMs, log: this.#log };
    return new WakeLoop('stream-room', pace, async () => {
      if (this.#connection.isConnected) await this.makeRoom();
      return false;
    });
  }

  /** Deletes what every consumer has finished, where there is little room. Throws where NATS does not respond. */
  async makeRoom(): Promise<void> {
    const manager = await jetstreamManager(this.#connection.current, { checkAPI: false });
    const nowMs = performance.now();
    const info = await findStream(manager, this.#name);
    if (!info) return;
    const { config, state } = info;
    // Whoever made room before may have ended halfway.
    if (config.max_age !== nanos(retentionMs)) await this.#keepFor(manager, config, retentionMs);
    this.#marks.push({ lastSequence: state.last_seq, atMs: nowMs });
    if (this.#marks.length > maxMarks) this.#marks.shift();
    if (config.max_bytes <= 0 || state.bytes < config.max_bytes * fullFrom) return;
    const finished = await this.#finishedUpTo(manager, state.last_seq);
    const mark = this.#marks.findLast(({ lastSequence }) => lastSequence <= finished);
    if (!mark || mark.lastSequence < state.first_seq) return;
    const current = (await manager.streams.info(this.#name)).config;
    // At this moment: if the process was frozen since it looked, newer events would be deleted.
    const keptMs = Math.max(this.#kept.leastMs, performance.now() - mark.atMs + this.#kept.slackMs);
    try {
      await this.#keepFor(manager, current, keptMs);
      await this.#untilDeleted(manager, state.first_seq);
    } finally {
      await this.#keepFor(manager, current, retentionMs);
    }
    const { bytes } = (await manager.streams.info(this.#name)).state;
    const told = { bytes_before: state.bytes, bytes_after: bytes, kept_seconds: Math.round(keptMs / 1_000) };
    this.#log.info(told, 'the stream of events was half full: what every consumer had finished was deleted');
  }

  /** Returns the sequence up to which every consumer has finished what it is for; 0 where there is no consumer. */
  async #finishedUpTo(manager: JetStreamManager, lastSequence: number): Promise<number> {
    let [least, hasAny] = [lastSequence, false];
    for await (const { num_pending, num_ack_pending, ack_floor } of manager.consumers.list(this.#name)) {
      hasAny = true;
      if (num_pending + num_ack_pending > 0) least = Math.min(least, ack_floor.stream_seq);
    }
    return hasAny ? least : 0;
  }

  async #keepFor(manager: JetStreamManager, config: StreamConfig, keptMs: number): Promise<void> {
    await manager.streams.update(this.#name, { ...config, max_age: nanos(keptMs) });
  }

  async #untilDeleted(manager: JetStreamManager, firstSequence: number): Promise<void> {
    for (const untilMs = performance.now() + deletionMs; performance.now() < untilMs; ) {
      const { state } = await manager.streams.info(this.#name);
      if (state.first_seq > firstSequence) return;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}
