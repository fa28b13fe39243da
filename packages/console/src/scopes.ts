import type { Scope } from '@customer-platform/contracts/core';

/** All scopes in the contract's order. Importing the contract's list as a value would bundle its schemas. */
const all: Record<Scope, true> = {
  'account:read': true,
  'account:write': true,
  'calendar:read': true,
  'calendar:write': true,
  'agents:read': true,
  'agents:write': true,
  'agents.plans:write': true,
  'agents.knowledge:read': true,
  'agents.knowledge:write': true,
  'cdp.contacts:read': true,
  'cdp.contacts:write': true,
  'cdp.events:write': true,
  'cdp.audiences:read': true,
  'cdp.audiences:write': true,
  'catalogue.products:read': true,
  'catalogue.products:write': true,
  'catalogue.orders:read': true,
  'catalogue.orders:write': true,
  'crm.deals:read': true,
  'crm.deals:write': true,
  'messages:read': true,
  'messages:write': true,
  'webhooks:read': true,
  'webhooks:write': true,
};

/** Selectable scopes, with `*` for all scopes first. */
export const scopes = ['*', ...Object.keys(all)];
