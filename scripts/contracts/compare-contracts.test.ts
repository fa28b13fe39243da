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

const path = z.object({ appointment_id: z.guid() });
const booked = z.object({
  contact: z.string().max(10),
  note: z.string().optional(),
  status: z.enum(['booked', 'done']),
});
const spec: OperationSpec = {
  method: 'POST',
  path: '/v1/calendar/appointments/{appointment_id}',
  scope: 'calendar:write',
  summary: 'Book',
  params: path,
  query: z.object({ limit: z.int().max(100).optional() }),
  body: z.object({ contact: z.string().max(10), note: z.string().optional() }),
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

describe('an operation breaks its clients', () => {
  it.each<[string, Parameters<typeof operation>[0], string]>([
    [
      'moves',
      { path: '/v1/calendar/bookings/{appointment_id}' },
      'book: has moved to POST /v1/calendar/bookings/{appointment_id}; clients of 1.4.0 call POST /v1',
    ],
    ['has another method', { method: 'PUT' }, 'book: has moved to PUT '],
    [
      'needs another scope',
      { scope: 'calendar:read' },
      'book: needs the scope calendar:read now; clients of 1.4.0 have calendar:write',
    ],
    ['is behind another module', { gate: 'crm' }, 'book: is off without the module crm now'],
    ['has another status', { status: 200 }, 'book: responds with 200 now; clients of 1.4.0 wait for 201'],
    [
      'takes smaller bodies',
      { bodyLimit: 1_000 },
      'book: takes bodies of 1000 bytes now; clients of 1.4.0 send up to 1048576',
    ],
    [
      'takes another kind of body',
      { bodyType: 'multipart' },
      'book: takes bodies as multipart now; clients of 1.4.0 send json',
    ],
    [
      'requires more',
      { body: spec.body!.extend({ staff: z.string() }) },
      'book body.staff: is required now; clients of 1.4.0 send none: make it optional, or take what is missing for a default',
    ],
    [
      'requires what was optional',
      { body: spec.body!.required() },
      'book body.note: is required now; clients of 1.4.0 may leave it out',
    ],
    [
      'no longer takes a field',
      { body: spec.body!.omit({ note: true }) },
      'book body.note: is not taken any more; clients of 1.4.0 send it: keep taking it',
    ],
    [
      'takes less',
      { body: spec.body!.extend({ contact: z.string().max(9) }) },
      'book body.contact: takes at most 9 characters now; clients of 1.4.0 send at most 10 characters: keep the bound',
    ],
    [
      'takes another type',
      { body: spec.body!.extend({ contact: z.int() }) },
      'book body.contact: takes an integer now; clients of 1.4.0 send a string',
    ],
    ['no longer takes a parameter', { query: z.object({}) }, 'book query.limit: is not taken any more'],
    ['no longer takes any', { query: undefined as never }, 'book query.limit: is not taken any more'],
    [
      'reads its path otherwise',
      { params: z.object({ appointment_id: z.string().max(9) }) },
      'book params.appointment_id: takes at most 9 characters now',
    ],
    [
      'no longer sends a field',
      { response: booked.omit({ contact: true }) },
      'book response.contact: is gone; clients of 1.4.0 need it: keep sending it',
    ],
    [
      'may leave out a field',
      { response: booked.partial({ contact: true }) },
      'book response.contact: may be missing now; clients of 1.4.0 need it',
    ],
    [
      'sends null',
      { response: booked.extend({ contact: z.string().max(10).nullable() }) },
      'book response.contact: may be null now; clients of 1.4.0 take a string',
    ],
    [
      'sends more',
      { response: booked.extend({ contact: z.string() }) },
      'book response.contact: may be of any number of characters now',
    ],
    ['has no response', { response: undefined as never }, 'book response: is gone'],
  ])('where it %s', (_, change, sentence) => {
    expect(breaks(operation(), operation(change))).toEqual([expect.stringContaining(`calendar ${sentence}`)]);
  });

  it('where it is gone', () => {
    expect(breaks(operation(), {})).toEqual([
      expect.stringContaining('calendar book: is gone; clients of 1.4.0 call it'),
    ]);
  });
});

describe('an operation breaks nobody', () => {
  it.each<[string, Parameters<typeof operation>[0]]>([
    ['stays as it is', {}],
    ['needs no scope any more', { scope: null }],
    ['is behind no module any more', { gate: null }],
    ['takes larger bodies', { bodyLimit: 2_000_000 }],
    ['takes an optional field more', { body: spec.body!.extend({ staff: z.string().optional() }) }],
    ['takes a field with a default more', { body: spec.body!.extend({ staff: z.string().default('') }) }],
    ['no longer requires a field', { body: spec.body!.partial() }],
    ['takes more', { body: spec.body!.extend({ contact: z.union([z.string(), z.int()]) }) }],
    ['takes a parameter more', { query: z.object({ limit: z.int().optional(), after: z.string().optional() }) }],
    ['sends a field more', { response: booked.extend({ staff: z.string() }) }],
    [
      'sends less',
      { response: booked.omit({ note: true }).extend({ contact: z.string().max(9), status: z.enum(['done']) }) },
    ],
    [
      'is described otherwise',
      { summary: 'Reserve', body: spec.body!.describe('A booking'), response: booked.meta({ id: 'Booked' }) },
    ],
  ])('where it %s', (_, change) => {
    expect(differences(operation(), operation(change))).toEqual({ breaks: [], notes: [] });
  });

  it('where it is new', () => {
    expect(differences({}, operation())).toEqual({ breaks: [], notes: [] });
  });

  it('where its response has a new value of an enum, which is noted', () => {
    const response = booked.extend({ status: z.enum(['booked', 'done', 'missed']) });
    expect(differences(operation(), operation({ response }))).toEqual({
      breaks: [],
      notes: [
        'calendar book response.status: may be "missed" now; clients of 1.4.0 know "booked", "done": say so in the changelog',
      ],
    });
  });
});

describe('an event', () => {
  it.each<[string, z.ZodType, string[]]>([
    [
      'a field that consumers need is gone',
      booked.omit({ contact: true }),
      ['data.contact: is gone; consumers of 1.4.0 need it: keep sending it'],
    ],
    [
      'a field may be missing',
      booked.partial({ contact: true }),
      ['data.contact: may be missing now; consumers of 1.4.0 need it'],
    ],
    [
      'a field of another type',
      booked.extend({ note: z.int().optional() }),
      [
        'data.note: may be an integer now; consumers of 1.4.0 take a string',
        'data.note: takes an integer now; events of 1.4.0, of which the stream has 7 days, send a string',
      ],
    ],
    [
      'a field that events of before do not have',
      booked.extend({ staff: z.string() }),
      [
        'data.staff: is required now; events of 1.4.0, of which the stream has 7 days, send none: make it optional, or take',
      ],
    ],
    [
      'a new value',
      booked.extend({ status: z.enum(['booked', 'done', 'missed']) }),
      ['data.status: may be "missed" now; consumers of 1.4.0 know "booked", "done"'],
    ],
    [
      'a value that is gone',
      booked.extend({ status: z.enum(['booked']) }),
      ['data.status: does not take "done" any more; events of 1.4.0, of which the stream has 7 days, send it'],
    ],
    ['consumers that refuse other keys', booked.strict(), []],
  ])('breaks a consumer, or is broken for one: %s', (_, data, sentences) => {
    expect(breaks(event(booked), event(data))).toEqual(
      sentences.map((sentence) => expect.stringContaining(`calendar appointment.booked ${sentence}`)),
    );
  });

  it('breaks consumers where it is gone, of another audience, or has a key that they refuse', () => {
    expect(breaks(event(booked), {})).toEqual([
      expect.stringContaining('appointment.booked: is gone; consumers of 1.4.0'),
    ]);
    expect(breaks(event(booked), event(booked, 'internal'))).toEqual([expect.stringContaining('is internal now')]);
    expect(breaks(event(booked.strict()), event(booked.strict().extend({ staff: z.string().optional() })))).toEqual([
      expect.stringContaining('data.staff: is new; consumers of 1.4.0 refuse keys'),
    ]);
  });

  it('breaks endpoints of webhooks where a field is gone that consumers have a default for', () => {
    const before = booked.extend({ staff: z.string().default('') });
    expect(breaks(event(before), event(booked))).toEqual([
      'calendar appointment.booked data.staff: is gone; endpoints of webhooks of 1.4.0 need it: keep sending it',
    ]);
    expect(breaks(event(before, 'internal'), event(booked, 'internal'))).toEqual([]);
  });

  it.each<[string, Exports]>([
    [
      'is new',
      {
        ...event(booked),
        other: { kind: 'appointment.missed', service: 'calendar', audience: 'public', data: booked },
      },
    ],
    ['has an optional field more', event(booked.extend({ staff: z.string().optional() }))],
    ['has a field with a default more', event(booked.extend({ staff: z.string().default('') }))],
  ])('breaks nobody where it %s', (_, now) => {
    expect(differences(event(booked), now)).toEqual({ breaks: [], notes: [] });
  });
});

describe('an internal request', () => {
  const [input, reply] = [z.object({ day: z.string() }), z.object({ times: z.array(z.string()) })];
  it.each<[string, Exports, string[]]>([
    [
      'requires more',
      request(input.extend({ staff: z.string() }), reply),
      ['input.staff: is required now; askers of 1.4.0 send none'],
    ],
    [
      'is no longer sent what repliers need',
      request(z.object({}), reply),
      ['input.day: is gone; repliers of 1.4.0 need it'],
    ],
    [
      'needs more of the reply',
      request(input, reply.extend({ until: z.string() })),
      ['reply.until: is required now; repliers of 1.4.0 send none'],
    ],
    [
      'no longer replies what askers need',
      request(input, z.object({})),
      ['reply.times: is gone; askers of 1.4.0 need it'],
    ],
    ['is gone', {}, ['is gone; services of 1.4.0 send it']],
  ])('breaks a roll where it %s', (_, now, sentences) => {
    const found = breaks(request(input, reply), now);
    expect(found).toEqual(sentences.map((sentence) => expect.stringContaining(sentence)));
    expect(found[0]).toMatch(/^calendar request getFree/);
  });

  it('breaks none where it takes or replies something more, which may be missing', () => {
    const now = request(input.extend({ staff: z.string().optional() }), reply.extend({ until: z.string().optional() }));
    expect(differences(request(input, reply), now)).toEqual({ breaks: [], notes: [] });
  });

  it('is noted where it is new', () => {
    expect(differences({}, request(input, reply))).toEqual({
      breaks: [],
      notes: ['calendar request getFree: is new; ask for it only from the release after, or expect 503 of 1.4.0'],
    });
  });
});

describe('the contracts of now', () => {
  let records: Record<ServiceName, ContractRecord>;
  beforeAll(async () => {
    records = await currentRecords(join(import.meta.dirname, '../..'));
  });

  it.each(serviceNames)('of %s have no difference from themselves', (name) => {
    const read = JSON.parse(JSON.stringify(records[name])) as ContractRecord;
    expect(differencesOf(name, read, records[name])).toEqual({ breaks: [], notes: [] });
    expect(Object.keys(read.operations)).not.toEqual([]);
    expect(Object.keys(read.requests)).toContain('measureQueues');
  });

  it('have every operation and event', () => {
    expect(Object.keys(records.gateway.operations)).toEqual(
      expect.arrayContaining(['getMe', 'createAccount', 'listQueues']),
    );
    expect(Object.keys(records.crm.events)).toContain('deal.won');
    expect(JSON.stringify(records.cdp.operations.recordEvents!.body)).toContain('"external_id":{"maxLength":200,');
  });

  it('are found out where an operation has changed', () => {
    const read = JSON.parse(JSON.stringify(records.calendar)) as ContractRecord;
    const body = read.operations.bookAppointment!.body as { properties: object; required: string[] };
    Object.assign(body.properties, { coupon: { type: 'string' } });
    expect(differencesOf('calendar', read, records.calendar).breaks).toEqual([
      `calendar bookAppointment body.coupon: is not taken any more; clients of ${read.version} send it: keep taking it`,
    ]);
  });
});
