import { WaitError } from './errors.ts';
import type { KnowledgeSource, MessageDetail, MessageStatus, Resources, SandboxClock } from './generated/types.ts';
import { checkOptions } from './known-options.ts';
import { backoffMs, longestTimerMs, wait } from './requests/delays.ts';

/** Options of a wait. */
export interface WaitOptions {
  /** Milliseconds until the wait rejects with a WaitError. Default: 60,000; for the sandbox clock 300,000. */
  timeoutMs?: number | undefined;
  /** Aborts the wait. It rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/**
 * Waits for work that the platform finishes after its response, by polling the resource at most 2 s apart. A wait rejects with a WaitError
 * if the resource can never reach the status or the time is over, and with a RequestError if a request fails.
 */
export interface WaitFor {
  /** Resolves with a message once it reaches or has passed a status: a `read` message counts as `delivered`. */
  message(id: string, status: MessageStatus, options?: WaitOptions): Promise<MessageDetail>;
  /** Resolves with a knowledge source once it is `ready`. */
  source(id: string, options?: WaitOptions): Promise<KnowledgeSource>;
  /** Resolves with the sandbox clock once it stops advancing. */
  clock(options?: WaitOptions): Promise<SandboxClock>;
}

/** `way` has the statuses of a message that is sent, in order. `ends` has the statuses of a message that is not. */
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
      return await until('the sandbox clock', 'ready', look, judge, { timeoutMs: 300_000, ...options });
    },
  };
}

/** Returns whether a message has or had the wanted status; `never` if it can no longer reach it. */
function progress(status: MessageStatus, wanted: MessageStatus): boolean | 'never' {
  if (status === wanted) return true;
  if (ends.includes(status)) return 'never';
  if (way.includes(wanted)) return way.indexOf(status) > way.indexOf(wanted);
  return way.indexOf(status) >= way.indexOf('delivered') ? 'never' : false;
}

/** Polls a resource until `judge` accepts it. Throws WaitError, a RequestError, or an aborted signal's reason. */
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
        throw new WaitError('wait_ended', `${name} is ${last.status} and can never become ${wanted}`, last);
      await wait(backoffMs(number, longestPauseMs), ended);
    }
  } catch (error) {
    if (error !== late.reason) throw error;
    const state = last ? `is still ${last.status}` : 'has not been seen';
    throw new WaitError('wait_timed_out', `${name} ${state} after ${timeoutMs} ms, not ${wanted}`, last);
  }
}
