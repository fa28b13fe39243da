import type {
  AttemptReason,
  AttemptStatus,
  Channel,
  MessageStatus,
  MessageStep,
  ReceiptStatus,
} from '@customer-platform/contracts/messaging';
import { retryAt, type TryResult } from './try-result.ts';

/** State of an attempt, as in its row. It is queued until its first call of a provider begins. */
export interface AttemptState {
  number: number;
  channel: Channel;
  address: string;
  status: AttemptStatus | 'queued';
  reason: AttemptReason | null;
  provider_id: string | null;
  tries: number;
  started_at: Date | null;
  finished_at: Date | null;
  due_at: Date | null;
  running_since: Date | null;
  falls_back_at: Date | null;
  /** Set while the channel is failing. The attempt is due at this time unless the channel recovers before. */
  held_until: Date | null;
  /** When the attempt was first held. Limits the total hold, however often the channel recovers. */
  held_since: Date | null;
  receipts: { status: ReceiptStatus; at: Date; applied: boolean }[];
}

/** A step of a message. If `fallback_after_seconds` is null, no receipt can come, so no step follows an accepted message. */
export type Step = Omit<MessageStep, 'fallback_after_seconds'> & { fallback_after_seconds: number | null };

/** The part of a message's state that changes while it is sent. */
export interface MessageState {
  status: MessageStatus;
  steps: Step[];
  /** Step of the latest attempt, from 0. */
  step: number;
  attempts: AttemptState[];
  sent_at: Date | null;
  delivered_at: Date | null;
  read_at: Date | null;
  failed_at: Date | null;
  error_code: string | null;
  error_message: string | null;
}

const notTaken: readonly TryResult['outcome'][] = ['postponed', 'unavailable', 'suspended', 'refused'];

const ranks = { scheduled: 0, queued: 0, sending: 1, sent: 2, delivered: 3, read: 4 };

/** Identifies a call of a provider by its attempt and start time. */
export type Try = Pick<AttemptState, 'number' | 'running_since'>;

/**
 * Applies the result of a provider call. A late result changes nothing unless the outcome was unknown, but an accepted one still stores the
 * provider's id. After a lost commit response, results are written again, and the next call may be running by then.
 */
export function takeResult(message: MessageState, { number, running_since }: Try, result: TryResult, now: Date): void {
  const attempt = attemptOf(message, number);
  const isRunning = running_since !== null && attempt.running_since?.getTime() === running_since.getTime();
  if (attempt.status === 'unknown' && result.outcome === 'accepted' && !isFinal(message)) {
    attempt.status = 'sending'; // its outcome was unknown until now
  } else if (!isRunning) {
    // Receipts naming the attempt came first; those naming the provider's id may follow.
    if (result.outcome === 'accepted') {
      attempt.provider_id ??= result.providerId;
      attempt.address = result.address ?? attempt.address;
    }
    return;
  }
  attempt.running_since = null;
  attempt.address = result.address ?? attempt.address;
  const isOver = wasReached(message) || isFinal(message);
  if (isOver && notTaken.includes(result.outcome)) {
    drop(attempt, now);
    return;
  }
  if (!notTaken.includes(result.outcome)) attempt.held_until = null;
  switch (result.outcome) {
    case 'refused':
      hold(message, attempt, result.holdMs, now);
      return;
    case 'suspended':
      attempt.due_at = now;
      takeSuspension(message, now);
      return;
    case 'postponed':
      attempt.tries--;
      attempt.due_at = new Date(now.getTime() + result.waitMs);
      return;
    case 'unavailable':
      attempt.due_at = retryAt(attempt, result.retryAfterMs ?? 0, now);
      if (attempt.due_at === null) fail(message, attempt, { reason: 'unavailable', text: result.message }, now);
      return;
    case 'accepted':
      attempt.status = 'sent';
      attempt.reason = null;
      attempt.provider_id = result.providerId;
      attempt.finished_at = now;
      message.sent_at ??= now;
      raise(message, 'sent');
      attempt.falls_back_at =
        hasNext(message, attempt) && !wasReached(message) ? fallbackAt(message, attempt, now) : null;
      return;
    case 'unknown':
      attempt.status = 'unknown';
      attempt.reason = 'no_answer';
      attempt.finished_at = now;
      attempt.falls_back_at = isOver ? null : (fallbackAt(message, attempt, now) ?? now);
      return;
    case 'skipped':
      attempt.status = 'skipped';
      attempt.reason = result.reason;
      attempt.finished_at = now;
      continueAfter(message, attempt, skipMessages[result.reason], now);
      return;
    case 'rejected':
      fail(message, attempt, { reason: result.reason ?? 'rejected', text: result.message }, now);
  }
}

const skipMessages = {
  not_set_up: 'The channel is not set up',
  no_address: 'The contact has no address on this channel',
  no_consent: 'The contact has not granted consent',
  channel_failing: 'The provider refused the credentials of the channel for too long',
  too_late: 'What the message announces has already begun',
  outside_window: 'The recipient has not written on WhatsApp within 24 hours, so WhatsApp delivers only templates',
};

/** Holds an attempt, as if it had not begun, until its channel recovers. Waits at most `holdMs` in total, including earlier holds. */
function hold(message: MessageState, attempt: AttemptState, holdMs: number, now: Date): void {
  attempt.held_since ??= now;
  attempt.held_until = new Date(attempt.held_since.getTime() + holdMs);
  attempt.tries--;
  if (attempt.tries === 0) Object.assign(attempt, { status: 'queued', started_at: null });
  attempt.due_at = attempt.held_until > now ? attempt.held_until : now;
  const isUntouched = message.attempts.every(({ status }) => status === 'queued' || status === 'skipped');
  if (message.status === 'sending' && isUntouched) message.status = 'queued';
}

/** Applies a receipt, and returns whether it is new. A repeated one changes nothing. */
export function takeReceipt(
  message: MessageState,
  number: number,
  receipt: { status: ReceiptStatus; at: Date },
  now: Date,
): boolean {
  const attempt = attemptOf(message, number);
  const { status, at } = receipt;
  if (attempt.receipts.some((known) => known.status === status)) return false;
  const applied = isHigher(attempt, status) && !isFinal(message);
  attempt.receipts.push({ status, at, applied });
  const arrived = status === 'delivered' || status === 'read';
  // A message that was read was delivered no later than that.
  if (arrived && attempt.status !== 'failed' && !isFinal(message)) {
    message.delivered_at = message.delivered_at && message.delivered_at < at ? message.delivered_at : at;
  }
  if (!applied) return true;
  attempt.running_since = null;
  if (status === 'failed') {
    fail(message, attempt, { reason: 'undelivered', text: 'The provider could not deliver it' }, now);
    return true;
  }
  attempt.status = status;
  attempt.reason = null;
  attempt.finished_at ??= now;
  // The provider has the message, so a call that seemed to fail is not repeated.
  attempt.due_at = null;
  message.sent_at ??= at;
  if (status === 'read') message.read_at ??= at;
  raise(message, status);
  if (status === 'sent') {
    const waits = hasNext(message, attempt) && !wasReached(message);
    attempt.falls_back_at = waits ? (attempt.falls_back_at ?? fallbackAt(message, attempt, now)) : null;
    return true;
  }
  dropWork(message);
  return true;
}

/** Applies an expired fallback timer: the time to wait for a receipt has passed. */
export function takeTimer(message: MessageState, number: number, now: Date): void {
  const attempt = attemptOf(message, number);
  if (attempt.falls_back_at === null || attempt.falls_back_at > now) return;
  attempt.falls_back_at = null;
  continueAfter(message, attempt, 'No provider confirmed whether it accepted the message', now);
}

/**
 * Fails a message of a suspended account if a call or fallback is due. It is never sent later. A message that waits for
 * its `send_at` or a receipt is unchanged.
 */
export function takeSuspension(message: MessageState, now: Date): void {
  if (isFinal(message) || wasReached(message)) return;
  const waiting = message.attempts.filter(({ due_at }) => due_at !== null);
  const isFallbackDue = message.attempts.some(({ falls_back_at }) => falls_back_at !== null && falls_back_at <= now);
  if (waiting.length === 0 && !isFallbackDue) return;
  for (const attempt of waiting)
    Object.assign(attempt, {
      status: 'failed',
      reason: 'account_suspended',
      finished_at: now,
      due_at: null,
      held_until: null,
    });
  dropWork(message);
  const error = { error_code: 'account_suspended', error_message: 'The account is suspended' };
  Object.assign(message, { status: 'failed', failed_at: now, ...error });
}

/** Cancels a message for which no provider has been called yet. Returns false if it is too late. */
export function cancel(message: MessageState): boolean {
  if (message.status !== 'scheduled' && message.status !== 'queued') return false;
  message.status = 'cancelled';
  dropWork(message);
  return true;
}

type Failure = { reason: AttemptReason; text: string };

function fail(message: MessageState, attempt: AttemptState, { reason, text }: Failure, now: Date): void {
  attempt.status = 'failed';
  attempt.reason = reason;
  attempt.finished_at ??= now;
  attempt.due_at = null;
  attempt.falls_back_at = null;
  continueAfter(message, attempt, text, now);
}

/** Continues after the attempt `ended`, which did not arrive. Begins the next one, or fails the message if none can still arrive. */
function continueAfter(message: MessageState, ended: AttemptState, text: string, now: Date): void {
  if (isFinal(message) || wasReached(message)) return;
  const latest = message.attempts.at(-1)!;
  if (isUnderWay(latest)) return;
  const next = message.steps[message.step + 1];
  if (next) {
    message.step++;
    message.attempts.push(newAttempt(latest.number + 1, next.channel, now));
    return;
  }
  // An attempt that a provider accepted can still arrive.
  if (message.attempts.some(({ status, falls_back_at }) => status === 'sent' || falls_back_at !== null)) return;
  const isRefused = message.attempts.every(({ reason }) => reason === 'no_consent');
  const status = isRefused ? 'refused' : 'failed';
  Object.assign(message, { status, failed_at: now, error_code: ended.reason, error_message: text });
}

export function newAttempt(number: number, channel: Channel, dueAt: Date | null): AttemptState {
  const times = {
    started_at: null,
    finished_at: null,
    due_at: dueAt,
    running_since: null,
    falls_back_at: null,
    held_until: null,
    held_since: null,
  };
  return {
    number,
    channel,
    address: '',
    status: 'queued',
    reason: null,
    provider_id: null,
    tries: 0,
    ...times,
    receipts: [],
  };
}

/** Drops pending work once a message arrived or was canceled. A running provider call cannot be recalled. */
function dropWork(message: MessageState): void {
  for (const attempt of message.attempts) {
    attempt.falls_back_at = null;
    if (attempt.due_at !== null) drop(attempt, null);
  }
}

function drop(attempt: AttemptState, now: Date | null): void {
  attempt.due_at = null;
  attempt.held_until = null;
  attempt.status = 'skipped';
  attempt.reason = 'not_needed';
  attempt.finished_at = now;
}

function raise(message: MessageState, status: 'sent' | 'delivered' | 'read'): void {
  if (ranks[status] > (ranks[message.status as keyof typeof ranks] ?? ranks.read)) message.status = status;
}

function isHigher(attempt: AttemptState, status: ReceiptStatus): boolean {
  if (attempt.status === 'failed' || attempt.status === 'skipped') return false;
  const rank = attempt.status === 'unknown' ? ranks.sending : ranks[attempt.status];
  return status === 'failed' ? rank < ranks.delivered : ranks[status] > rank;
}

/** Returns whether a message ended without arriving. */
export function isFinal({ status }: Pick<MessageState, 'status'>): boolean {
  return status === 'failed' || status === 'cancelled' || status === 'refused';
}

function wasReached({ status }: MessageState): boolean {
  return status === 'delivered' || status === 'read';
}

/** Returns whether an attempt is pending: its provider is being or will be called, or a receipt is awaited. */
function isUnderWay({ due_at, running_since, falls_back_at }: AttemptState): boolean {
  return due_at !== null || running_since !== null || falls_back_at !== null;
}

/** Returns whether another attempt can follow. Only the latest attempt has a successor. */
function hasNext(message: MessageState, attempt: AttemptState): boolean {
  return attempt === message.attempts.at(-1) && message.step + 1 < message.steps.length;
}

function fallbackAt({ steps }: MessageState, { number }: AttemptState, now: Date): Date | null {
  const seconds = steps[number - 1]!.fallback_after_seconds;
  return seconds === null ? null : new Date(now.getTime() + seconds * 1_000);
}

function attemptOf(message: MessageState, number: number): AttemptState {
  const attempt = message.attempts.find((one) => one.number === number);
  if (!attempt) throw new RangeError(`the message has no attempt ${number}`);
  return attempt;
}
