import { codePoints } from '@customer-platform/contracts/core';
import { addDealNote, dealUpdated } from '@customer-platform/contracts/crm';
import { answerRequest } from '@customer-platform/service-kit';
import { changeWhenAsked } from './change-when-asked.ts';

/** As many as a deal's notes may have. */
const maxNotes = 5_000;

export const answerAddDealNote = answerRequest(addDealNote, (call, asked) =>
  changeWhenAsked(call, asked, dealUpdated, async ({ notes }) => {
    const longer = notes === '' ? asked.body : `${notes}\n\n${asked.body}`;
    return codePoints(longer) <= maxNotes ? { notes: longer } : "The deal's notes have no room for it";
  }),
);
