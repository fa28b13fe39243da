import type { adminOperations } from '@customer-platform/contracts/accounts';
import type { z } from 'zod';
import { traceId } from './trace-fixture.ts';

type Operations = typeof adminOperations;
type Responding = {
  [Key in keyof Operations]: Operations[Key] extends { response: z.ZodType } ? Key : never;
}[keyof Operations];
type Shape<Key extends Responding> = z.input<Operations[Key]['response']>;
type Item<Key extends Responding> = Shape<Key> extends { data: (infer Each)[] } ? Each : never;

/** Returns a UUID version 7 that ends in `number`. */
export function id(number: number): string {
  return `0198a1b2-0000-7000-8000-${number.toString(16).padStart(12, '0')}`;
}

/** Returns the time that many seconds ago, at the time of the call, since a process may run many test files. */
const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();

const nothingYet = { oldest_due_at: null, last_error: null };
const depth = { ready: 0, running: 0, waiting: 0, dead: 0, ...nothingYet };
const idle = { ...depth, lag_seconds: 0, paused: false, last_error_at: null, pauses: [], history: null };
const names: [service: Item<'listQueues'>['service'], queues: string[]][] = [
  ['gateway', ['outbox']],
  ['calendar', ['outbox', 'calendar-contacts', 'reminders']],
  ['agents', ['outbox', 'agents-messages', 'planning', 'steps', 'readings']],
  ['cdp', ['outbox', 'audiences', 'duplicates', 'cdp-activity']],
  ['catalogue', ['outbox', 'handovers']],
  ['crm', ['outbox', 'crm-contacts']],
  ['webhooks', ['outbox', 'public-events', 'deliveries', 'replays']],
  ['messaging', ['outbox', 'messages', 'fallbacks', 'receipts']],
];

/** Queues without a count of failed entries. */
const withoutFailedCount = new Set(['reminders', 'duplicates', 'replays']);

export const northwind = id(1);
export const contoso = id(2);
export const failingEndpoint = id(31);

/** Queues, some with work. Deliveries of one endpoint fail, and calendar-contacts has dead events. */
export function queues(): Item<'listQueues'>[] {
  const busy: Record<string, Partial<Item<'listQueues'>>> = {
    'webhooks/deliveries': {
      ready: 1_204,
      running: 16,
      waiting: 3_310,
      failed_waiting: 3_308,
      lag_seconds: 252,
      oldest_due_at: ago(252),
      last_error: 'HTTP 503 from https://hooks.northwind.example/customer-platform',
      last_error_at: ago(3),
    },
    'calendar/calendar-contacts': { dead: 2, last_error: 'contact has no phone number', last_error_at: ago(5_400) },
    'agents/planning': { running: 3, ready: 4, lag_seconds: 2, oldest_due_at: ago(2) },
    'calendar/reminders': { waiting: 18_442, oldest_due_at: ago(-600) },
    'messaging/messages': { ready: 3, running: 2, waiting: 140 },
    'cdp/audiences': {
      waiting: 12,
      running: 1,
      failed_waiting: 0,
      last_error: 'canceling statement due to statement timeout',
      last_error_at: ago(7_300),
    },
  };
  return names.flatMap(([service, list]) =>
    list.map((queue) => {
      const failed_waiting = withoutFailedCount.has(queue) ? null : 0;
      return { service, queue, ...idle, failed_waiting, ...busy[`${service}/${queue}`] };
    }),
  );
}

/** The last hour of a queue. It was twice as deep half an hour ago, and has a gap before that. */
export function history({ ready, running, waiting, dead }: Item<'listQueues'>): Shape<'getQueue'>['history'] {
  return Array.from({ length: 60 }, (_, index) => ({
    at: ago((60 - index) * 60),
    ready: index === 30 ? 2 * ready : Math.round(ready * waveAt(index)),
    running,
    waiting: index === 30 ? 2 * waiting : Math.round(waiting * waveAt(index)),
    dead,
  })).filter((_, index) => index < 16 || index > 22);
}

/** A factor between 0.6 and 1 that varies by minute. */
function waveAt(index: number): number {
  return 0.8 + 0.14 * Math.sin(index / 5) + 0.06 * Math.sin(index * 1.7);
}

/** Requests of the last hour by minute. An account has fewer, and none in some minutes. */
export function traffic(account: string | undefined): Item<'listTraffic'>[] {
  const perMinute = account === undefined ? 5_400 : 310;
  const thisMinute = Math.floor(Date.now() / 60_000) * 60_000;
  return Array.from({ length: 61 }, (_, index) => {
    const requests = Math.round(perMinute * waveAt(index));
    const isRough = index > 40 && index < 48;
    const limited = isRough ? Math.round(requests * 0.05) : 0;
    const s4xx = limited + Math.round(requests * 0.012 * waveAt(index * 3));
    const s5xx = isRough ? Math.round(requests * 0.006) : 0;
    const minute = new Date(thisMinute - (60 - index) * 60_000).toISOString();
    const p99_ms = isRough ? 180 : 50 + 25 * (index % 3);
    return { minute, requests, s2xx: requests - s4xx - s5xx, s4xx, s5xx, limited, p99_ms };
  }).filter((_, index) => account === undefined || index % 10 < 8);
}

/** Problems of customers: refused credentials, failed messages, refused requests, a disabled endpoint, and invalid keys. */
export function customerAttention(gone: Shape<'listAttention'>['gone']): Shape<'listAttention'> {
  return {
    channels: [
      {
        account: contoso,
        account_name: 'Contoso',
        channel: 'whatsapp',
        provider: 'whatsapp_cloud',
        error: 'HTTP 401: the access token has expired',
        failing_since: ago(1_900),
      },
    ],
    accounts: [
      {
        account: contoso,
        account_name: 'Contoso',
        failed_messages: 25,
        requests: 410,
        refused: 4,
        reasons: ['messages'],
      },
      {
        account: northwind,
        account_name: 'Northwind',
        failed_messages: 31,
        requests: 18_400,
        refused: 2_310,
        reasons: ['messages', 'refusals'],
      },
    ],
    endpoints: [{ ...endpoints()[2]!, account_name: 'Northwind' }],
    addresses: [{ address: '203.0.113.77', invalid_keys: 480, last_at: ago(45) }],
    gone,
  };
}

/** Problems of an account: a key over its rate limit, failed messages, a module that is off. */
export function health(accountId: string): Shape<'getAccountHealth'> {
  const isNorthwind = accountId === northwind;
  return {
    requests: {
      last_hour: {
        total: 18_400,
        by_code: isNorthwind ? { rate_limited: 2_204, invalid_request: 106, module_off: 12 } : {},
      },
    },
    rate_limit: { per_minute: 600, burst: 100 },
    keys: [
      {
        id: id(50),
        name: 'Website',
        last4: 'x7Qa',
        rate_limit: null,
        ended_at: null,
        requests: 16_200,
        limited: 2_204,
        addresses: ['203.0.113.77', '198.51.100.4'],
      },
      {
        id: id(52),
        name: 'Shop',
        last4: 'x7Qa',
        rate_limit: { per_minute: 60, burst: 10 },
        ended_at: ago(900),
        requests: 12,
        limited: 0,
        addresses: ['192.0.2.9'],
      },
    ],
    messages: {
      failed_24h: isNorthwind
        ? [
            {
              channel: 'sms',
              code: 'invalid_number',
              count: 31,
              last_at: ago(240),
              last_error: 'The number +49 30 0 is not a mobile number',
            },
          ]
        : [],
      channels: [
        { channel: 'sms', provider: 'twilio', status: 'ready', error: null, failing_since: null, held: 0 },
        {
          channel: 'whatsapp',
          provider: 'whatsapp_cloud',
          status: isNorthwind ? 'ready' : 'failing',
          error: isNorthwind ? null : 'HTTP 401: the access token has expired',
          failing_since: isNorthwind ? null : ago(7_200),
          held: isNorthwind ? 0 : 14,
        },
      ],
    },
    endpoints: endpoints()
      .filter(({ account: owner }) => owner === accountId)
      .map(({ id: endpointId, url, active, paused, disabled_reason, failing_since, pending }) => ({
        id: endpointId,
        url,
        active,
        paused,
        disabled_reason,
        failing_since,
        pending,
        failed_24h: failing_since ? 117 : 0,
      })),
    plans: isNorthwind
      ? { failed_24h: 3, last_error: 'the model did not respond within 60 s' }
      : { failed_24h: 0, last_error: null },
    modules_off: ['agents'],
    suspended: false,
    gone: [],
  };
}

/** The last deliveries of an endpoint. The newest ones failed if it is failing, or if a 410 disabled it. */
export function operatedDeliveries(endpoint: Item<'listEndpoints'>): Shape<'getEndpoint'>['deliveries'] {
  return Array.from({ length: 12 }, (_, index) => {
    const isFailing = endpoint.failing_since !== null && index < 8;
    const isGivenUp = isFailing && index > 5;
    const isGone = !endpoint.active && index === 1;
    const isSkipped = !endpoint.active && index === 0;
    const error = isFailing ? 'HTTP 503' : isGone ? 'HTTP 410 Gone' : null;
    return {
      id: id(200 + index),
      event: index % 3 === 0 ? 'appointment.booked' : 'contact.updated',
      event_id: id(300 + index),
      status: isSkipped ? 'skipped' : isGivenUp || isGone ? 'failed' : isFailing ? 'pending' : 'delivered',
      tries: isSkipped ? 0 : isGivenUp ? 10 : isFailing ? 4 : 1,
      at: ago(20 + index * 340),
      response_status: isSkipped ? null : isFailing ? 503 : isGone ? 410 : 200,
      error,
      response: isFailing ? '{"error":"the database is read-only"}' : null,
      trace_id: index === 0 ? traceId : null,
    };
  });
}

/** Shares of the deliveries queue. */
export function shares(by: string): Item<'listQueues'> extends never ? never : Shape<'getQueue'>['top'] {
  const error = 'HTTP 503 from https://hooks.northwind.example/customer-platform';
  const parts = [
    {
      account: northwind,
      endpoint: failingEndpoint,
      ready: 1_190,
      running: 8,
      waiting: 3_310,
      failed_waiting: 3_308,
      dead: 0,
      oldest_due_at: ago(252),
      last_error: error,
      failing_since: ago(9_000),
      last_error_trace_id: traceId,
    },
    {
      account: contoso,
      endpoint: id(32),
      ready: 14,
      running: 8,
      waiting: 0,
      failed_waiting: 0,
      dead: 0,
      oldest_due_at: ago(1),
      last_error: null,
      failing_since: null,
      last_error_trace_id: null,
    },
  ];
  if (by === 'endpoint') return parts;
  return parts.map((part) => ({ ...part, endpoint: null, failing_since: null, last_error_trace_id: null }));
}

const event = {
  id: id(7),
  type: 'contact.updated',
  account_id: northwind,
  occurred_at: ago(7_000),
  data: { contact: { id: id(8), name: 'Zoë Müller', phone: null } },
};

/** Dead events: one with JSON, one that is not UTF-8. */
export function deadEvents(): Shape<'getDeadEvent'>[] {
  const texts = [Buffer.from(JSON.stringify(event)), Buffer.from([0xff, 0xfe, 0x00, 0x10, 0x43, 0x6f, 0x6e, 0x74])];
  return texts.map((bytes, index) => ({
    id: id(40 + index),
    service: 'calendar' as const,
    queue: 'calendar-contacts',
    subject: 'platform.events.cdp.contact.updated',
    account: index === 0 ? northwind : null,
    kind: index === 0 ? 'contact.updated' : null,
    reason: index === 0 ? 'contact has no phone number' : 'the message is not JSON',
    tries: index === 0 ? 10 : 1,
    size_bytes: bytes.length,
    first_at: ago(9_000),
    dead_at: ago(5_400 + index),
    bytes: bytes.toString('base64'),
    text: index === 0 ? bytes.toString() : null,
    headers: { 'Nats-Msg-Id': id(7), traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
  }));
}

const neverFailed = { failing_since: null, last_error: null, last_error_at: null, last_error_trace_id: null };

/** Endpoints of two accounts. One is failing, one is disabled. */
export function endpoints(): Item<'listEndpoints'>[] {
  return [
    {
      id: failingEndpoint,
      account: northwind,
      url: 'https://hooks.northwind.example/customer-platform',
      active: true,
      paused: false,
      disabled_reason: null,
      failing_since: ago(9_000),
      pending: 4_508,
      last_error: 'HTTP 503',
      last_error_at: ago(3),
      last_error_trace_id: traceId,
    },
    {
      id: id(32),
      account: contoso,
      url: 'https://contoso.example/hooks/orders',
      active: true,
      paused: false,
      disabled_reason: null,
      pending: 22,
      ...neverFailed,
    },
    {
      id: id(33),
      account: contoso,
      url: 'https://old.contoso.example/hook',
      active: false,
      paused: false,
      disabled_reason: 'only failed for 5 days',
      pending: 0,
      ...neverFailed,
    },
  ];
}

/** An account with its settings. */
export function account(accountId: string, name: string): Item<'listAccounts'> {
  const modules = ['calendar', 'agents', 'cdp', 'catalogue', 'crm'] as const;
  const on = { on: true };
  return {
    id: accountId,
    name,
    status: 'active',
    timezone: 'Europe/Berlin',
    country: 'DE',
    language: 'en',
    currency: 'EUR',
    plan: { name: 'Business', api: true, modules: [...modules] },
    modules: { calendar: on, agents: { on: false }, cdp: on, catalogue: on, crm: on },
    rate_limit: { per_minute: 600, burst: 100 },
    sandbox_id: accountId.replace('8000', '8001'),
    created_at: ago(2_600_000),
    updated_at: ago(86_400),
  };
}

/** A key as in a list. */
export function key(number: number, name: string, mode: 'live' | 'test', scopes: string[]): Item<'listKeys'> {
  return {
    id: id(number),
    name,
    mode,
    scopes,
    allowed_addresses: [],
    rate_limit: null,
    last4: 'x7Qa',
    created_at: ago(1_000_000),
    last_used_at: ago(40),
    expires_at: null,
    revoked_at: null,
  };
}

export const members: Item<'listMembers'>[] = [
  { id: id(60), name: 'Ada Lovelace', email: 'ada@northwind.example', active: true },
  { id: id(61), name: 'Sam Field', email: 'sam@northwind.example', active: false },
];

/** Processes of all services. */
export function processes(): Item<'listServices'>[] {
  return names.map(([service], index) => ({
    service,
    instance: `${service}-${(0x5f3a + index).toString(16)}`,
    version: '1.0.0',
    started_at: ago(86_400 * (index + 1)),
    host: `node-${(index % 3) + 1}`,
    // Processes of an older version have no pid.
    pid: index < 6 ? 4_001 + index : null,
    in_flight: index === 0 ? 31 : index,
    event_loop_lag_ms: index === 2 ? 412 : 3.4,
    memory_bytes: 143_000_000 + index * 9_100_000,
    pool: { size: 10, used: index === 6 ? 10 : 2, waiting: index === 6 ? 4 : 0 },
    migrations: `000${index + 2}_queues.sql`,
    waiting_for: service === 'crm' ? 'Redis' : null,
    refused: [],
  }));
}

export const addresses = (): Item<'listAddresses'>[] => [
  { address: '203.0.113.77', invalid_keys: 48, last_at: ago(45) },
  { address: '2001:db8:0:1::/64', invalid_keys: 21, last_at: ago(12) },
];

export const audit: Item<'listAudit'>[] = [
  {
    id: id(70),
    at: ago(300),
    actor: 'anna',
    action: 'queues.pause',
    target: 'webhooks/deliveries',
    account: northwind,
    reason: 'their server is down',
    before: null,
    after: { account: northwind, reason: 'their server is down' },
  },
  {
    id: id(71),
    at: ago(4_000),
    actor: 'ben',
    action: 'accounts.update',
    target: `accounts/${contoso}`,
    account: contoso,
    reason: 'the invoice is paid',
    before: { status: 'suspended' },
    after: { status: 'active' },
  },
  {
    id: id(73),
    at: ago(5_000),
    actor: 'ben',
    action: 'accounts.update',
    target: `accounts/${northwind}`,
    account: northwind,
    reason: null,
    before: { rate_limit: { per_minute: 600, burst: 100 } },
    after: { rate_limit: { per_minute: 1_200, burst: 100 } },
  },
  {
    id: id(74),
    at: ago(9_000),
    actor: 'anna',
    action: 'endpoints.enable',
    target: `endpoints/${failingEndpoint}`,
    account: northwind,
    reason: 'their server is back, ticket 4711',
    before: { active: false },
    after: { active: true },
  },
];
