import { type AccountContext, ApiError, email } from '@customer-platform/contracts/core';
import type { Channel } from '@customer-platform/contracts/messaging';
import { toE164 } from '@customer-platform/phone-number';

/**
 * Returns the address that `to` names on these channels: an email address, or a phone number in E.164. A phone number
 * may be written in the national form of the account's country. Throws `invalid_request`, field `to`.
 */
export function addressFor(to: string, channels: readonly Channel[], account: Pick<AccountContext, 'country'>): string {
  const byEmail = channels.filter((channel) => channel === 'email').length;
  if (byEmail > 0 && byEmail < channels.length)
    throw refusal('to cannot be used if channels mix email with others; give contact instead');
  if (byEmail > 0) {
    const address = email.safeParse(to);
    if (!address.success) throw refusal('to must be an email address alone, such as ada@example.com');
    return address.data;
  }
  const number = toE164(to, account.country);
  if (number === undefined) throw refusal('to must be a phone number, such as +4930901820');
  return number;
}

function refusal(message: string): ApiError {
  return new ApiError('invalid_request', message, { field: 'to' });
}
