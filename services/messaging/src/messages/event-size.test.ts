import { channel, type MessageStep } from '@customer-platform/contracts/messaging';
import { describe, expect, it } from '@jest/globals';
import { storable } from '../providers/hook-input.ts';
import { quoted } from '../providers/post-result.ts';
import type { AttemptRow } from './attempts.sql.ts';
import { toMessage, toMessageWithAttempts } from './message.ts';
import type { MessageRow } from './messages.sql.ts';

/** Maximum bytes of an event's data, so that its envelope fits into a bus message. */
const maxBytes = 900 * 1_024;
const bytesOf = (data: object) => Buffer.byteLength(JSON.stringify(data));
const now = new Date('2026-06-01T08:00:00.123Z');
const account = { timezone: 'America/Argentina/ComodRivadavia' };

describe.each([
  ['control characters, six bytes each in JSON', '\u0001'],
  ['characters of four bytes', '😀'],
])('the largest events, of %s', (_, character) => {
  const texts = (length: number) => character.repeat(length);
  const steps = channel.options.map((one): MessageStep => {
    return { channel: one, body: texts(4_096), subject: texts(255), fallback_after_seconds: 259_200 };
  });
  const ids = { account_id: '019a0000-0000-7000-8000-000000000001', id: '019a0000-0000-7000-8000-000000000002' };
  const attempts = steps.map((step, index): AttemptRow => {
    return {
      ...ids,
      message_id: ids.id,
      number: index + 1,
      channel: step.channel,
      address: texts(254),
      tries: 3,
      status: 'read',
      reason: 'undelivered',
      provider: 'whatsapp_cloud',
      provider_id: texts(200),
      started_at: now,
      finished_at: now,
      due_at: null,
      running_since: null,
      falls_back_at: null,
      held_until: null,
      held_since: null,
      // One receipt of each status is kept, however many are sent.
      receipts: (['sent', 'delivered', 'read', 'failed'] as const).map((status) => ({
        status,
        at: now,
        applied: false,
      })),
    };
  });
  const row: MessageRow = {
    ...ids,
    reference: texts(100),
    status: 'failed',
    purpose: 'marketing',
    steps,
    step: 2,
    given_to: null,
    contact_id: ids.id,
    contact_name: texts(200),
    contact_phone: '+491234567890123',
    event_ids: [],
    trace: null,
    send_at: now,
    created_at: now,
    sent_at: now,
    delivered_at: now,
    read_at: now,
    failed_at: now,
    error_code: 'account_suspended',
    error_message: quoted(texts(10_000), []) || texts(500),
    attempts,
  };

  it('of a message fit, including previous values', () => {
    const data = { message: toMessageWithAttempts(row, attempts, account), previous: toMessage(row, account) };
    expect(bytesOf(data)).toBeLessThan(maxBytes);
  });

  it('of an inbound message fit, however long it is', () => {
    const message = { ...ids, channel: 'whatsapp', from: texts(254), body: storable(texts(1_000_000)), at: now };
    const contact = { id: ids.id, name: texts(200), phone: '+491234567890123' };
    expect(bytesOf({ message, contact })).toBeLessThan(maxBytes);
  });
});
