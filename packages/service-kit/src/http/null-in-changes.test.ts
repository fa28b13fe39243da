import * as accounts from '@customer-platform/contracts/accounts';
import * as agents from '@customer-platform/contracts/agents';
import * as calendar from '@customer-platform/contracts/calendar';
import * as catalogue from '@customer-platform/contracts/catalogue';
import * as cdp from '@customer-platform/contracts/cdp';
import { ApiError, isOperation, type Operation } from '@customer-platform/contracts/core';
import * as crm from '@customer-platform/contracts/crm';
import * as messaging from '@customer-platform/contracts/messaging';
import * as webhooks from '@customer-platform/contracts/webhooks';
import { expect, it } from '@jest/globals';
import { bodyParser } from './bodies/request-body.ts';

const contracts = [accounts.adminOperations, agents, calendar, catalogue, cdp, crm, messaging, webhooks];
const operations = contracts.flatMap((contract) => Object.values<unknown>(contract).filter(isOperation));
const changes = operations.filter(({ method }) => method === 'PATCH');
const fieldsOf = (some: readonly Operation[]) =>
  some.flatMap((operation) =>
    Object.keys(operation.body?.shape ?? {}).map((name) => [`${operation.key}: ${name}`, operation, name] as const),
  );
const fields = fieldsOf(changes);

/** Returns the value that a body is taken as, or the field that its refusal names. */
function taken(operation: Operation, given: object): Record<string, unknown> | { refused: string | undefined } {
  try {
    const body = Buffer.from(JSON.stringify(given));
    return bodyParser(operation)({ headers: { 'content-type': 'application/json' }, body });
  } catch (error) {
    if (error instanceof ApiError && error.code === 'invalid_request') return { refused: error.field };
    throw error;
  }
}

function nullIn(operation: Operation, name: string): { value: unknown } | { refused: string | undefined } {
  const parsed = taken(operation, { [name]: null });
  return 'refused' in parsed ? (parsed as { refused: string }) : { value: parsed[name] };
}

it('there are changes to check', () => expect(changes.length).toBeGreaterThan(12));

it.each(fields)('null clears a field of a PATCH or is refused, and is never ignored (%s)', (_, operation, name) => {
  const taken = nullIn(operation, name);
  if ('refused' in taken) expect(taken.refused).toBe(name);
  else expect(taken.value).not.toBeUndefined();
});

/** Fields that may be null or empty, by their operation. */
const clearedFields: Record<string, string[]> = {
  updateAgent: ['actions', 'collections', 'daily_limit', 'model', 'pipelines'],
  updateAgentSettings: ['api_key', 'base_url', 'daily_budget', 'model', 'pipeline_budgets', 'prices'],
  updateAudience: ['description'],
  updateBookingType: ['default_staff', 'location', 'meeting_link', 'reminders', 'staff'],
  updateContact: ['email', 'external_id', 'fields', 'name', 'phone', 'tags'],
  updateDeal: ['contact', 'notes'],
  updateEndpoint: ['description'],
  updateSettings: ['location', 'reminders'],
  updateSource: ['alternates'],
  updateStaff: ['location', 'meeting_link', 'overrides'],
  updateTemplates: ['appointment_booked', 'appointment_reminder', 'appointment_rescheduled'],
};

it('null clears fields that may be null or empty, and no others', () => {
  const cleared = fields.filter(([, operation, name]) => 'value' in nullIn(operation, name)).map(([title]) => title);
  const expected = Object.entries(clearedFields).flatMap(([key, names]) => names.map((name) => `${key}: ${name}`));
  expect(cleared.toSorted()).toEqual(expected.toSorted());
});

const others = operations.filter(({ method, bodyType }) => method !== 'PATCH' && bodyType !== 'multipart');
const optional = fieldsOf(others).filter(([, { body }, name]) => body!.shape[name]!.safeParse(undefined).success);

it.each(optional)('null in an optional field of a POST or PUT leaves it out (%s)', (_, operation, name) => {
  expect(taken(operation, { [name]: null })).toEqual(taken(operation, {}));
});
