import type { ReceiptStatus } from '@customer-platform/contracts/messaging';
import { z } from 'zod';
import type { Provider } from './provider.ts';

/** What follows for an address that ends in these digits; all others are as 01. */
const receiptsOf: Readonly<Record<string, readonly ReceiptStatus[]>> = {
  '01': ['delivered'],
  '02': ['delivered', 'read'],
  '04': [],
};

const settings = z.object({});

/** What sandbox accounts send with: nothing leaves, and the address decides what becomes of a message. */
export const provider: Provider<z.output<typeof settings>> = {
  name: 'simulated',
  channels: ['whatsapp', 'sms', 'email'],
  settings,
  secrets: [],
  secretsBelongTo: [],

  async send({ attemptId, to }) {
    const ending = endingOf(to);
    if (ending === '03')
      return { outcome: 'rejected', message: 'The simulated provider refuses addresses ending in 03' };
    const receipts = receiptsOf[ending] ?? ['delivered'];
    return { outcome: 'accepted', providerId: `simulated-${attemptId}`, receipts };
  },
};

/** The last two digits of a number, or of what stands before the @ of an email's address. */
function endingOf(to: string): string {
  const local = to.includes('@') ? to.slice(0, to.lastIndexOf('@')) : to;
  return /\d{2}$/.exec(local)?.[0] ?? '';
}
