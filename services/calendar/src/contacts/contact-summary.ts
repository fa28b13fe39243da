import type { Contact, ContactSummary } from '@customer-platform/contracts/cdp';

/** What this service keeps of a contact; no phone is "". */
export function contactSummary({ id, name, phone }: Contact): ContactSummary {
  return { id, name, phone: phone ?? '' };
}
