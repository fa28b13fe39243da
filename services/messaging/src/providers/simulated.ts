import type { ReceiptStatus } from '@customer-platform/contracts/messaging';
import { z } from 'zod';
import { isOutsideWindow, type Provider } from './provider.ts';

/** Receipts by the last two digits of an address; all others behave like 01. */
const receiptsOf: Readonly<Record<string, readonly ReceiptStatus[]>> = {
  '01': ['delivered'],
  '02': ['delivered', 'read'],
  '04': [],
};

const settings = z.object({});

/** The provider of sandboxes. It sends nothing; the address decides the outcome. */
export const provider: Provider<z.output<typeof settings>> = {
  name: 'simulated',
  channels: ['whatsapp', 'sms', 'email'],
  settings,
  secrets: [],
  secretsBelongTo: [],

  // A number ending in 05 belongs to a user who never wrote.
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
