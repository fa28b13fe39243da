import { takeMessage } from '@customer-platform/contracts/messaging';
import { type Foundation, inSpan, WakeLoop } from '@customer-platform/service-kit';
import { claimPendingMessages, type PendingMessage, settlePendingMessages } from './pending-messages.sql.ts';

/** How late a message is looked for that no wake told of: one of a process that died, or one that is asked for again. */
const everyMs = 1_000;
/** How long it waits for more after a wake. */
const gatherMs = 5;
const slowestRetryMs = 60_000;
/** Longer than the answers to one set take: how late a message goes on that a killed process had claimed. */
const leaseMs = 10_000;
const batchSize = 50;
const firstWaitMs = 1_000;
const longestWaitMs = 300_000;

type HandoverFoundation = Pick<Foundation, 'sql' | 'bus' | 'log' | 'clock'>;

/**
 * Hands what customers are to be told over to messaging: each message until messaging says that it has it, at least once and
 * always under the same key. No transaction is open while messaging is asked. Any number of processes may do so.
 */
export class MessageHandover {
  readonly #foundation: HandoverFoundation;
  readonly #loop: WakeLoop;
  #isRefused = false;

  /** Starts handing over. */
  constructor(foundation: HandoverFoundation) {
    this.#foundation = foundation;
    const pace = { everyMs, slowestRetryMs, gatherMs, log: foundation.log };
    this.#loop = new WakeLoop('message-handover', pace, () => this.#handOver());
  }

  /** Says that a transaction with a message has committed. */
  wake(): void {
    this.#loop.wake();
  }

  /** Ends after the messages under way. */
  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** One round; answers whether more may be waiting that messaging would take. */
  async #handOver(): Promise<boolean> {
    const { sql, bus, clock } = this.#foundation;
    if (!bus.isConnected()) return false;
    const now = clock();
    const leasedUntil = new Date(now.getTime() + leaseMs);
    const claimed = await claimPendingMessages(sql, now, leasedUntil, batchSize);
    if (claimed.length === 0) return false;
    const answers = await Promise.allSettled(claimed.map((message) => this.#ask(message)));
    const isTaken = (_: PendingMessage, index: number) => answers[index]!.status === 'fulfilled';
    const taken = claimed.filter(isTaken);
    const refused = claimed.filter((message, index) => !isTaken(message, index));
    const postponed = refused.map((message) => ({
      message,
      dueAt: new Date(clock().getTime() + waitMs(message.tries)),
    }));
    this.#note(answers);
    await settlePendingMessages(sql, leasedUntil, taken, postponed);
    return claimed.length === batchSize && refused.length === 0;
  }

  #ask({ account_id, id, contact_id, channel, number, body, trace }: PendingMessage) {
    return inSpan('hand over a message', { parent: trace ?? undefined }, () => {
      const message = { key: id, contact: contact_id, channel, body, reference: `order-${number}` };
      return this.#foundation.bus.ask(takeMessage, account_id, message);
    });
  }

  /** Says once that messaging does not take messages, with the first reason, and once that it does again. */
  #note(answers: PromiseSettledResult<unknown>[]): void {
    const failures = answers.filter((answer) => answer.status === 'rejected');
    const { log } = this.#foundation;
    if (failures.length > 0 && !this.#isRefused) {
      log.warn({ err: failures[0]!.reason, failures: failures.length }, 'messages cannot be handed over; they wait');
    } else if (failures.length === 0 && this.#isRefused) log.warn('messages are handed over again');
    this.#isRefused = failures.length > 0;
  }
}

/** How long a message waits that was asked for so often in vain before: 1 s, then twice as long each time, up to 5 min. */
function waitMs(tries: number): number {
  return Math.min(firstWaitMs * 2 ** tries, longestWaitMs);
}
