import { WaitError } from './errors.ts';
import type { KnowledgeSource, MessageDetail, MessageStatus, Resources, SandboxClock } from './generated/types.ts';
import { checkOptions } from './known-options.ts';
import { backoffMs, longestTimerMs, wait } from './requests/delays.ts';

/** Options of a wait. */
export interface WaitOptions {
  /** Milliseconds until the wait rejects with a WaitError. Default: 60,000, and for the sandbox's clock 300,000. */
  timeoutMs?: number | undefined;
  /** Ends the wait: it rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/**
 * Waits for what the platform does after its response. They request the resource again and again, at most 2 s apart, and reject with a WaitError
 * when that can no longer happen or the time is over, and with a RequestError if a request fails.
 */
export interface WaitFor {
  /** Resolves with a message once it has a status, or one that follows it: a `read` message was `delivered`. */
  message(id: string, status: MessageStatus, options?: WaitOptions): Promise<MessageDetail>;
  /** Resolves with a knowledge source once it is `ready`. */
  source(id: string, options?: WaitOptions): Promise<KnowledgeSource>;
  /** Resolves with the sandbox's clock once it is not advancing. */
  clock(options?: WaitOptions): Promise<SandboxClock>;
}

/** Statuses of a message on its way, in their order; those that end it on the way. */
const way: readonly MessageStatus[] = ['scheduled', 'queued', 'sending', 'sent', 'delivered', 'read'];
const ends: readonly MessageStatus[] = ['failed', 'cancelled', 'refused'];

const longestPauseMs = 2_000;

/** Returns the waits of a client. */
export function waitsOf(client: Resources): WaitFor {
  return {
    async message(id, status, options) {
      if (![...way, ...ends].includes(status))
        throw new TypeError(`waitFor.message takes a status of ${[...way, ...ends].join(', ')}, not ${status}`);
      const look = (signal: AbortSignal) => client.messages.get({ params: { message_id: id }, signal });
      return await until(`message ${id}`, status, look, (message) => progress(message.status, status), options);
    },
    async source(id, options) {
      const look = (signal: AbortSignal) => client.agents.knowledge.sources.get({ params: { source_id: id }, signal });
      const judge = ({ status }: KnowledgeSource) => (status === 'failed' ? 'never' : status === 'ready');
      return await until(`source ${id}`, 'ready', look, judge, options);
    },
    async clock(options) {
      const look = (signal: AbortSignal) => client.sandbox.clock.get({ signal });
      const judge = ({ status }: SandboxClock) => status === 'ready';
      return await until("the sandbox's clock", 'ready', look, judge, { timeoutMs: 300_000, ...options });
    },
  };
}

/** Returns whether a message with a status has, or had, the status that is waited for; `never` if it cannot have it any more. */
function progress(status: MessageStatus, wanted: MessageStatus): boolean | 'never' {
  if (status === wanted) return true;
  if (ends.includes(status)) return 'never';
  if (way.includes(wanted)) return way.indexOf(status) > way.indexOf(wanted);
  return way.indexOf(status) >= way.indexOf('delivered') ? 'never' : false;
}

/** Looks at a resource until it is as wanted. Throws WaitError, a RequestError, or the reason of an aborted signal. */
async function until<Resource extends { status: string }>(
  name: string,
  wanted: string,
  look: (signal: AbortSignal) => Promise<Resource>,
  judge: (resource: Resource) => boolean | 'never',
  options: WaitOptions = {},
): Promise<Resource> {
  checkOptions('waitFor', options, ['timeoutMs', 'signal']);
  const { timeoutMs = 60_000, signal } = options;
  const late = AbortSignal.timeout(Math.min(timeoutMs, longestTimerMs));
  const ended = signal ? AbortSignal.any([signal, late]) : late;
  let last: Resource | undefined;
  try {
    for (let number = 1; ; number++) {
      last = await look(ended);
      const verdict = judge(last);
      if (verdict === true) return last;
      if (verdict === 'never')
        throw new WaitError('wait_ended', `${name} is ${last.status}, and never becomes ${wanted}`, last);
      await wait(backoffMs(number, longestPauseMs), ended);
    }
  } catch (error) {
    if (error !== late.reason) throw error;
    const state = last ? `is still ${last.status}` : 'has not been seen';
    throw new WaitError('wait_timed_out', `${name} ${state} after ${timeoutMs} ms, not ${wanted}`, last);
  }
}
