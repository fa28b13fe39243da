import { codePoints } from '@customer-platform/contracts/core';
import { addDealNote, dealUpdated, maxDealNotes } from '@customer-platform/contracts/crm';
import { handleRequest } from '@customer-platform/service-kit';
import { changeWhenAsked } from './change-when-asked.ts';

export const handleAddDealNote = handleRequest(addDealNote, (call, asked) =>
  changeWhenAsked(call, asked, dealUpdated, async ({ notes }) => {
    const longer = notes === '' ? asked.body : `${notes}\n\n${asked.body}`;
    return codePoints(longer) <= maxDealNotes ? { notes: longer } : "The note does not fit into the deal's notes";
  }),
);
