import type { AccountContext } from '@customer-platform/contracts/core';

/** An account as the gateway describes it to services. */
export const account: AccountContext = {
  id: '0190a5a4-0000-7000-8000-000000000001',
  owner: '0190a5a4-0000-7000-8000-000000000001',
  name: 'Acme',
  mode: 'live',
  timezone: 'UTC',
  country: 'DE',
  language: 'en',
  currency: 'EUR',
  modules: ['calendar'],
  suspended: false,
};
