import { join } from 'node:path';
import { type OperationSpec, type ServiceName, serviceNames } from '@customer-platform/contracts/core';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { differencesOf } from './compare-contracts.ts';
import { type ContractRecord, currentRecords, type Exports, recordOf } from './record.ts';

const version = '1.4.0';
const differences = (before: Exports, now: Exports) =>
  differencesOf('calendar', recordOf('calendar', version, before), recordOf('calendar', version, now));
const breaks = (before: Exports, now: Exports) => differences(before, now).breaks;
const none = { breaks: [], notes: [] };

const path = z.object({ appointment_id: z.guid() });
const body = z.object({ contact: z.string().max(10), note: z.string().optional() });
const booked = body.extend({ status: z.enum(['booked', 'done']) });
const spec: OperationSpec = {
  method: 'POST',
  path: '/v1/calendar/appointments/{appointment_id}',
  scope: 'calendar:write',
  summary: 'Book',
  params: path,
  query: z.object({ limit: z.int().max(100).optional() }),
  body,
  status: 201,
  response: booked,
  errors: [],
};
const operation = (change: Partial<OperationSpec> & { gate?: string | null } = {}): Exports => ({
  book: { key: 'book', service: 'calendar', gate: 'calendar', ...spec, ...change },
});
const event = (data: z.ZodType, audience = 'public'): Exports => ({
  booked: { kind: 'appointment.booked', service: 'calendar', audience, data },
});
const request = (input: z.ZodType, reply: z.ZodType): Exports => ({
  free: { key: 'getFree', service: 'calendar', input, reply },
});
const withStaff = { staff: z.string() };
const withStatus = (...values: [string, ...string[]]) => booked.extend({ status: z.enum(values) });
const [clients, consumers] = ['clients of 1.4.0', 'consumers of 1.4.0'];
const olderEvents = 'events of 1.4.0, which the stream keeps for 7 days,';

describe('an operation', () => {
  it.each<[string, Parameters<typeof operation>[0], string]>([
    ['moves', { path: '/v1/bookings/{appointment_id}' }, ': has moved to POST /v1/bookings/{appointment_id}; '],
    ['has another method', { method: 'PUT' }, ': has moved to PUT '],
    ['needs another scope', { scope: 'calendar:read' }, `: needs the scope calendar:read now; ${clients} have `],
    ['is behind another module', { gate: 'crm' }, ': needs the module crm now'],
    ['has another status', { status: 200 }, `: responds with 200 now; ${clients} expect 201`],
    ['takes smaller bodies', { bodyLimit: 9 }, `: accepts bodies of 9 bytes now; ${clients} send up to 1048576`],
    ['takes another kind of body', { bodyType: 'multipart' }, ': accepts bodies as multipart now; '],
    ['requires more', { body: body.extend(withStaff) }, ` body.staff: is required now; ${clients} send none: make it `],
    ['requires what was optional', { body: body.required() }, ` body.note: is required now; ${clients} may omit it`],
    [
      'takes no field',
      { body: body.omit({ note: true }) },
      ` body.note: is no longer accepted; ${clients} send it: keep`,
    ],
    ['takes another type', { body: body.extend({ contact: z.int() }) }, ' body.contact: accepts an integer now; '],
    ['takes no parameter', { query: z.object({}) }, ' query.limit: is no longer accepted'],
    ['takes no query', { query: undefined as never }, ' query.limit: is no longer accepted'],
    [
      'reads its path otherwise',
      { params: z.object({ appointment_id: z.int() }) },
      ' params.appointment_id: accepts an int',
    ],
    [
      'sends no field',
      { response: booked.omit({ contact: true }) },
      ` response.contact: was removed; ${clients} need it`,
    ],
    ['may send no field', { response: booked.partial({ contact: true }) }, ' response.contact: may be missing now; '],
    [
      'sends null',
      { response: booked.extend({ contact: z.string().max(10).nullable() }) },
      ` response.contact: may be null now; ${clients} accept a string`,
    ],
    ['has no response', { response: undefined as never }, ' response: was removed'],
  ])('breaks its clients if it %s', (_, change, sentence) => {
    expect(breaks(operation(), operation(change))).toEqual([expect.stringContaining(`calendar book${sentence}`)]);
  });

  it.each<[string, Parameters<typeof operation>[0]]>([
    ['stays as it is', {}],
    ['needs no scope and no module any more', { scope: null, gate: null }],
    ['takes larger bodies', { bodyLimit: 2_000_000 }],
    ['takes an optional field more', { body: body.extend({ staff: z.string().optional() }) }],
    ['takes a field with a default more', { body: body.extend({ staff: z.string().default('') }) }],
    ['no longer requires a field', { body: body.partial() }],
    ['takes more', { body: body.extend({ contact: z.union([z.string(), z.int()]) }) }],
    ['takes a parameter more', { query: z.object({ limit: z.int().optional(), after: z.string().optional() }) }],
    ['sends a field more', { response: booked.extend(withStaff) }],
    [
      'sends less',
      {
        response: withStatus('done')
          .omit({ note: true })
          .extend({ contact: z.string().max(9) }),
      },
    ],
    ['is described otherwise', { summary: 'Reserve', body: body.describe('A booking') }],
  ])('breaks no client if it %s', (_, change) => {
    expect(differences(operation(), operation(change))).toEqual(none);
  });

  it('breaks its clients if it is removed, and no client if it is new', () => {
    expect(breaks(operation(), {})).toEqual([
      expect.stringContaining(`calendar book: was removed; ${clients} call it`),
    ]);
    expect(differences({}, operation())).toEqual(none);
  });

  it('is noted if its response has a new enum value', () => {
    expect(differences(operation(), operation({ response: withStatus('booked', 'done', 'missed') }))).toEqual({
      breaks: [],
      notes: [
        `calendar book response.status: may be "missed" now; ${clients} know "booked", "done": mention it in the changelog`,
      ],
    });
  });
});

describe('an event', () => {
  it('is noted if it has a new enum value', () => {
    expect(differences(event(booked), event(withStatus('booked', 'done', 'missed')))).toEqual({
      breaks: [],
      notes: [
        `calendar appointment.booked data.status: may be "missed" now; ${consumers} know "booked", "done": mention it in the changelog`,
      ],
    });
  });

  it.each<[string, Exports, ...string[]]>([
    ['is gone', {}, `: was removed; ${consumers} expect it`],
    ['has another audience', event(booked, 'internal'), ': is internal now'],
    ['has a field less', event(booked.omit({ contact: true })), ` data.contact: was removed; ${consumers} need it`],
    ['may have a field less', event(booked.partial({ contact: true })), ' data.contact: may be missing now; '],
    [
      'has a field of another type',
      event(booked.extend({ note: z.int().optional() })),
      ` data.note: may be an integer now; ${consumers} accept a string`,
      ` data.note: accepts an integer now; ${olderEvents} send a string`,
    ],
    ['needs another field', event(booked.extend(withStaff)), ` data.staff: is required now; ${olderEvents} send none`],
    ['has a value less', event(withStatus('booked')), ` data.status: no longer accepts "done"; ${olderEvents} send it`],
    ['refuses other keys', event(booked.strict())],
    ['has an optional field more', event(booked.extend({ staff: z.string().optional() }))],
    ['has a field with a default more', event(booked.extend({ staff: z.string().default('') }))],
  ])('breaks consumers of either release as expected if it %s', (_, now, ...sentences) => {
    const expected = sentences.map((sentence) => expect.stringContaining(`calendar appointment.booked${sentence}`));
    expect(differences(event(booked), now)).toEqual({ breaks: expected, notes: [] });
  });

  it('breaks consumers that reject unknown keys if it has a new key', () => {
    const now = event(booked.strict().extend({ staff: z.string().optional() }));
    expect(breaks(event(booked.strict()), now)).toEqual([
      expect.stringContaining(`data.staff: is new; ${consumers} reject unknown keys`),
    ]);
  });

  it('breaks webhook endpoints if a field is removed for which consumers have a default', () => {
    const before = booked.extend({ staff: z.string().default('') });
    expect(breaks(event(before), event(booked))).toEqual([
      'calendar appointment.booked data.staff: was removed; endpoints of webhooks of 1.4.0 need it: keep sending it',
    ]);
    expect(breaks(event(before, 'internal'), event(booked, 'internal'))).toEqual([]);
  });
});

describe('an internal request', () => {
  const [input, reply] = [z.object({ day: z.string() }), z.object({ times: z.array(z.string()) })];
  const [asked, replied] = [z.object({ staff: z.string().optional() }), z.object({ until: z.string().optional() })];
  it.each<[string, Exports, ...string[]]>([
    [
      'requires more',
      request(input.extend(withStaff), reply),
      ' input.staff: is required now; askers of 1.4.0 send none',
    ],
    ['lacks what repliers need', request(z.object({}), reply), ' input.day: was removed; repliers of 1.4.0 need it'],
    [
      'needs more',
      request(input, reply.extend(withStaff)),
      ' reply.staff: is required now; repliers of 1.4.0 send none',
    ],
    ['lacks what askers need', request(input, z.object({})), ' reply.times: was removed; askers of 1.4.0 need it'],
    ['is gone', {}, ': was removed; services of 1.4.0 send it'],
    ['has more, which may be missing', request(input.extend(asked.shape), reply.extend(replied.shape))],
  ])('breaks a rolling update as expected if it %s', (_, now, ...sentences) => {
    const expected = sentences.map((sentence) => expect.stringContaining(`calendar request getFree${sentence}`));
    expect(differences(request(input, reply), now)).toEqual({ breaks: expected, notes: [] });
  });

  it('is noted if it is new', () => {
    expect(differences({}, request(input, reply))).toEqual({
      breaks: [],
      notes: ['calendar request getFree: is new; send it only from the next release on, or expect 503 from 1.4.0'],
    });
  });
});

describe('the current contracts', () => {
  let records: Record<ServiceName, ContractRecord>;
  beforeAll(async () => {
    records = await currentRecords(join(import.meta.dirname, '../..'));
  });

  it.each(serviceNames)('of %s do not differ from themselves', (name) => {
    const read = JSON.parse(JSON.stringify(records[name])) as ContractRecord;
    expect(differencesOf(name, read, records[name])).toEqual(none);
    expect(Object.keys(read.operations)).not.toEqual([]);
    expect(Object.keys(read.requests)).toContain('measureQueues');
  });

  it('have every operation and event', () => {
    const { gateway, crm, cdp } = records;
    const operations = Object.keys(gateway.operations);
    expect(operations).toEqual(expect.arrayContaining(['getMe', 'createAccount', 'listQueues']));
    expect(Object.keys(crm.events)).toContain('deal.won');
    expect(JSON.stringify(cdp.operations.recordEvents!.body)).toContain('"external_id":{"maxLength":200,');
  });
});
