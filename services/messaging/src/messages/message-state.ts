import type {
  AttemptReason,
  AttemptStatus,
  Channel,
  MessageStatus,
  MessageStep,
  ReceiptStatus,
} from '@customer-platform/contracts/messaging';

/** An attempt as its row has it. It is queued until its first try begins. */
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
  receipts: { status: ReceiptStatus; at: Date; applied: boolean }[];
}

/** What of a message changes while it is sent. */
export interface MessageState {
  status: MessageStatus;
  steps: MessageStep[];
  /** The step of its latest attempt, from 0. */
  step: number;
  attempts: AttemptState[];
  sent_at: Date | null;
  delivered_at: Date | null;
  read_at: Date | null;
  failed_at: Date | null;
  error_code: string | null;
  error_message: string | null;
}

/**
 * What one try of an attempt came to. Postponed is none: it was not begun, since something that it needs is unavailable. Neither is
 * suspended: its account is, and nothing of it goes out.
 */
export type TryResult = { address?: string } & (
  | { outcome: 'accepted'; providerId: string; receipts?: readonly ReceiptStatus[] }
  | { outcome: 'rejected'; message: string }
  | { outcome: 'unavailable'; message: string; retryAfterMs?: number }
  | { outcome: 'unknown'; message: string }
  | { outcome: 'skipped'; reason: 'not_set_up' | 'no_address' | 'no_consent' }
  | { outcome: 'postponed'; waitMs: number }
  | { outcome: 'suspended' }
);

const notTaken: readonly TryResult['outcome'][] = ['postponed', 'unavailable', 'suspended'];

/** The waits before the second and the third try; all three begin within 30 s of the first, however long they take. */
const retryWaitsMs = [2_000, 8_000];
const maxRetryWaitMs = 13_000;
const lastTryAfterMs = 29_500;
const ranks = { scheduled: 0, queued: 0, sending: 1, sent: 2, delivered: 3, read: 4 };

/** Takes what the try that runs came to. A result of a try that is over already changes nothing, but for what it says of an unknown one. */
export function takeResult(message: MessageState, number: number, result: TryResult, now: Date): void {
  const attempt = attemptOf(message, number);
  if (attempt.status === 'unknown' && result.outcome === 'accepted' && !isFinal(message)) {
    attempt.status = 'sending'; // nobody knew until now
  } else if (attempt.running_since === null) return;
  attempt.running_since = null;
  attempt.address = result.address ?? attempt.address;
  const isOver = wasReached(message) || isFinal(message);
  if (isOver && notTaken.includes(result.outcome)) {
    drop(attempt, now);
    return;
  }
  switch (result.outcome) {
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
      if (attempt.due_at === null) fail(message, attempt, 'unavailable', result.message, now);
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
      attempt.falls_back_at = isOver ? null : fallbackAt(message, attempt, now);
      return;
    case 'skipped':
      attempt.status = 'skipped';
      attempt.reason = result.reason;
      attempt.finished_at = now;
      goOn(message, attempt, skipMessages[result.reason], now);
      return;
    case 'rejected':
      fail(message, attempt, 'rejected', result.message, now);
  }
}

/** When a try that was unavailable is made again; null where it was the third one, or too much time has gone. */
function retryAt({ tries, started_at }: AttemptState, retryAfterMs: number, now: Date): Date | null {
  const waitMs = retryWaitsMs[tries - 1];
  if (waitMs === undefined) return null;
  const last = (started_at ?? now).getTime() + lastTryAfterMs;
  const wanted = now.getTime() + Math.min(Math.max(waitMs, retryAfterMs), maxRetryWaitMs);
  return last < now.getTime() ? null : new Date(Math.min(wanted, last));
}

const skipMessages = {
  not_set_up: 'The channel is not set up',
  no_address: 'The contact has no address on this channel',
  no_consent: 'The contact has not granted consent',
};

/** Takes a receipt; the same one again changes nothing. Answers whether it is new. */
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
  // What was read was delivered, by then at the latest.
  if (arrived && attempt.status !== 'failed' && !isFinal(message)) {
    message.delivered_at = message.delivered_at && message.delivered_at < at ? message.delivered_at : at;
  }
  if (!applied) return true;
  attempt.running_since = null;
  if (status === 'failed') {
    fail(message, attempt, 'undelivered', 'The provider could not deliver it', now);
    return true;
  }
  attempt.status = status;
  attempt.reason = null;
  message.sent_at ??= at;
  if (status === 'read') message.read_at ??= at;
  raise(message, status);
  if (status === 'sent') return true;
  dropWork(message);
  return true;
}

/** The time in which a receipt could come is over. */
export function takeTimer(message: MessageState, number: number, now: Date): void {
  const attempt = attemptOf(message, number);
  if (attempt.falls_back_at === null || attempt.falls_back_at > now) return;
  attempt.falls_back_at = null;
  goOn(message, attempt, 'No provider confirmed whether it accepted the message', now);
}

/** A try whose process died: nobody knows whether the provider was called. */
export function takeLoss(message: MessageState, number: number, now: Date): void {
  takeResult(message, number, { outcome: 'unknown', message: 'The provider did not respond' }, now);
}

/**
 * Ends a message of a suspended account that waits for a try, or whose fallback is due: nothing more of it goes out, later neither. One
 * that waits for its time or for a receipt stays as it is.
 */
export function takeSuspension(message: MessageState, now: Date): void {
  if (isFinal(message) || wasReached(message)) return;
  const waiting = message.attempts.filter(({ due_at }) => due_at !== null);
  const isFallbackDue = message.attempts.some(({ falls_back_at }) => falls_back_at !== null && falls_back_at <= now);
  if (waiting.length === 0 && !isFallbackDue) return;
  for (const attempt of waiting)
    Object.assign(attempt, { status: 'failed', reason: 'account_suspended', finished_at: now, due_at: null });
  dropWork(message);
  const error = { error_code: 'account_suspended', error_message: 'The account is suspended' };
  Object.assign(message, { status: 'failed', failed_at: now, ...error });
}

/** Cancels a message that nobody has been called for yet; answers false where it is too late. */
export function cancel(message: MessageState): boolean {
  if (message.status !== 'scheduled' && message.status !== 'queued') return false;
  message.status = 'cancelled';
  dropWork(message);
  return true;
}

function fail(message: MessageState, attempt: AttemptState, reason: AttemptReason, text: string, now: Date): void {
  attempt.status = 'failed';
  attempt.reason = reason;
  attempt.finished_at ??= now;
  attempt.due_at = null;
  attempt.falls_back_at = null;
  goOn(message, attempt, text, now);
}

/** After `ended`, an attempt that reached nobody: begins the next one, or ends the message where nothing more can come of it. */
function goOn(message: MessageState, ended: AttemptState, text: string, now: Date): void {
  if (isFinal(message) || wasReached(message)) return;
  const latest = message.attempts.at(-1)!;
  if (isUnderWay(latest)) return;
  const next = message.steps[message.step + 1];
  if (next) {
    message.step++;
    message.attempts.push(newAttempt(latest.number + 1, next.channel, now));
    return;
  }
  // One that a provider took can still arrive.
  if (message.attempts.some(({ status, falls_back_at }) => status === 'sent' || falls_back_at !== null)) return;
  const isRefused = message.attempts.every(({ reason }) => reason === 'no_consent');
  const status = isRefused ? 'refused' : 'failed';
  Object.assign(message, { status, failed_at: now, error_code: ended.reason, error_message: text });
}

export function newAttempt(number: number, channel: Channel, dueAt: Date | null): AttemptState {
  const times = { started_at: null, finished_at: null, due_at: dueAt, running_since: null, falls_back_at: null };
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

/** Whoever was reached, or whose message is cancelled, gets nothing more; a send that runs cannot be called back. */
function dropWork(message: MessageState): void {
  for (const attempt of message.attempts) {
    attempt.falls_back_at = null;
    if (attempt.due_at !== null) drop(attempt, null);
  }
}

function drop(attempt: AttemptState, now: Date | null): void {
  attempt.due_at = null;
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

/** Whether it ended without reaching anybody. */
export function isFinal({ status }: Pick<MessageState, 'status'>): boolean {
  return status === 'failed' || status === 'cancelled' || status === 'refused';
}

function wasReached({ status }: MessageState): boolean {
  return status === 'delivered' || status === 'read';
}

/** A provider is being called for it, or will be, or its receipt is waited for. */
function isUnderWay({ due_at, running_since, falls_back_at }: AttemptState): boolean {
  return due_at !== null || running_since !== null || falls_back_at !== null;
}

/** Only the latest attempt is followed by another one. */
function hasNext(message: MessageState, attempt: AttemptState): boolean {
  return attempt === message.attempts.at(-1) && message.step + 1 < message.steps.length;
}

function fallbackAt({ steps }: MessageState, { number }: AttemptState, now: Date): Date {
  return new Date(now.getTime() + steps[number - 1]!.fallback_after_seconds * 1_000);
}

function attemptOf(message: MessageState, number: number): AttemptState {
  const attempt = message.attempts.find((one) => one.number === number);
  if (!attempt) throw new RangeError(`the message has no attempt ${number}`);
  return attempt;
}
