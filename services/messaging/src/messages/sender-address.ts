import { email } from '@customer-platform/contracts/core';
import { toE164 } from '@customer-platform/phone-number';

/** Returns a sender's address in the form of contacts. Undefined for a short code or a name, which no contact can have. */
export function addressOfSender(sender: string, country: string): { phone: string } | { email: string } | undefined {
  const address = email.safeParse(sender);
  if (address.success) return { email: address.data };
  const number = sender.trim().replace(/^whatsapp:/, '');
  const phone = toE164(number, country) ?? number.replace(/[\s()./-]/g, '');
  return /^\+[1-9]\d{6,14}$/.test(phone) ? { phone } : undefined;
}
