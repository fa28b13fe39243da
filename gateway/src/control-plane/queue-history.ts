import type { Queue, QueueDepth } from '@customer-platform/contracts/accounts';
import { formatInstant, type Logger, WakeLoop } from '@customer-platform/service-kit';

/** Sampling interval. */
const everyMs = 60_000;
const slowestRetryMs = 60_000;
/** Time for which samples are kept. */
const keptMs = 3_600_000;

interface Sample extends Pick<QueueDepth, 'ready' | 'running' | 'waiting' | 'dead'> {
  atMs: number;
}

type Named = Pick<Queue, 'service' | 'queue'>;
type Sampled = Named & Omit<QueueDepth, 'at'>;

/**
 * The depth of every queue over the last hour, sampled once a minute. It is in this gateway's memory and starts with
 * the gateway. A queue has no sample for a minute in which its service did not reply.
 */
export class QueueHistory {
  readonly #read: (now: Date) => Promise<{ data: Sampled[] }>;
  readonly #clock: () => Date;
  readonly #samples = new Map<string, Sample[]>();
  #loop: WakeLoop | undefined;

  constructor(read: (now: Date) => Promise<{ data: Sampled[] }>, clock: () => Date) {
    this.#read = read;
    this.#clock = clock;
  }

  /** Samples every minute until `stop`. */
  start(log: Logger): void {
    this.#loop = new WakeLoop('queue-history', { everyMs, slowestRetryMs, log }, () => this.sample());
  }

  /** Takes one sample of every queue and drops samples older than an hour. */
  async sample(): Promise<false> {
    const now = this.#clock();
    const { data } = await this.#read(now);
    for (const { ready, running, waiting, dead, ...queue } of data) {
      const samples = this.#samples.get(nameOf(queue)) ?? [];
      this.#samples.set(nameOf(queue), [...samples, { atMs: now.getTime(), ready, running, waiting, dead }]);
    }
    for (const [name, samples] of this.#samples) {
      const kept = samples.filter(({ atMs }) => atMs >= now.getTime() - keptMs);
      if (kept.length > 0) this.#samples.set(name, kept);
      else this.#samples.delete(name);
    }
    return false;
  }

  /** Returns the depths of a queue, oldest first. */
  of(queue: Named): QueueDepth[] {
    const samples = this.#samples.get(nameOf(queue)) ?? [];
    return samples.map(({ atMs, ...depth }) => ({ at: formatInstant(new Date(atMs), 'UTC'), ...depth }));
  }

  async stop(): Promise<void> {
    await this.#loop?.stop();
  }
}

function nameOf({ service, queue }: Named): string {
  return `${service}/${queue}`;
}
