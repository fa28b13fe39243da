import type { ReceiptStatus } from '@customer-platform/contracts/messaging';
import { z } from 'zod';
import { isOutsideWindow, type Provider } from './provider.ts';

/** Receipts for an address by its last two digits; all others are like 01. */
const receiptsOf: Readonly<Record<string, readonly ReceiptStatus[]>> = {
  '01': ['delivered'],
  '02': ['delivered', 'read'],
  '04': [],
};

const settings = z.object({});

/** Provider of sandbox accounts: nothing is sent, and the address decides the outcome of a message. */
export const provider: Provider<z.output<typeof settings>> = {
  name: 'simulated',
  channels: ['whatsapp', 'sms', 'email'],
  settings,
  secrets: [],
  secretsBelongTo: [],

  // A number that ends in 05 is that of somebody who never wrote.
  isOutsideWindow: (message) => endingOf(message.to) === '05' && isOutsideWindow(message, null, new Date()),

  async send({ attemptId, to }) {
    const ending = endingOf(to);
    if (ending === '03')
      return { outcome: 'rejected', message: 'The simulated provider refuses addresses ending in 03' };
    const receipts = receiptsOf[ending] ?? ['delivered'];
    return { outcome: 'accepted', providerId: `simulated-${attemptId}`, receipts };
  },
};

/** Returns the last two digits of a number, or of the local part of an email address. */
function endingOf(to: string): string {
  const local = to.includes('@') ? to.slice(0, to.lastIndexOf('@')) : to;
  return /\d{2}$/.exec(local)?.[0] ?? '';
}
