import { listAppointments, listFreeTimes } from '@customer-platform/contracts/calendar';
import { getContact, listContacts, updateContact } from '@customer-platform/contracts/cdp';
import type { Operation } from '@customer-platform/contracts/core';
import { expect, it } from '@jest/globals';
import { Steps } from './call.ts';
import { KeyWaiters } from './idempotency.ts';

const isList = (operation: Operation) => new Steps({ operation } as never, {} as never, new KeyWaiters()).isList;

it('lists are what is read page by page; free times, which begin after an instant and have to be true now, are none', () => {
  expect([listContacts, listAppointments].map(isList)).toEqual([true, true]);
  expect([listFreeTimes, getContact, updateContact].map(isList)).toEqual([false, false, false]);
});
