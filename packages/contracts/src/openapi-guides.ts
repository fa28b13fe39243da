import { clientName, resourceOf } from './client-names.ts';
import { type ErrorCode, errorMeaning, errorStatus } from './core/errors.ts';
import type { Operation } from './core/operation.ts';

/** The document's tags: the path segment after `/v1`, with its title in the reference and a description. */
export const tags = [
  {
    name: 'me',
    'x-displayName': 'Account',
    description: 'The account, scopes, modules and rate limit of your key. A good first request.',
  },
  {
    name: 'cdp',
    'x-displayName': 'Customer data',
    description:
      'Contacts with their consents and events, audiences whose members are computed from rules, and pairs of contacts that are likely the same person.',
  },
  {
    name: 'calendar',
    'x-displayName': 'Calendar',
    description:
      'Appointments of contacts with teammates. Set up staff profiles and booking types once, list the free times, and book one. A listed time can be booked until someone takes it. No teammate is ever booked twice at the same time.',
  },
  {
    name: 'agents',
    'x-displayName': 'AI agents',
    description:
      'Agents that reply to customers by plans. A person approves each plan unless you set the agent up otherwise. Also the knowledge that agents reply from, their workflows, and the cost of their AI.',
  },
  {
    name: 'messages',
    'x-displayName': 'Messages',
    description:
      'Messages by WhatsApp, SMS and email. If a channel reaches nobody, the message falls back to the next one. Also the providers of the channels, and the templates of automatic messages. The sandbox sends nothing. The end of an address decides the outcome: 01 delivered, 02 read, 03 rejected, 04 no receipt.',
  },
  {
    name: 'catalogue',
    'x-displayName': 'Catalogue',
    description: 'Products, and orders from the first item to fulfillment.',
  },
  {
    name: 'crm',
    'x-displayName': 'Pipelines',
    description: 'Deals that move through the stages of a pipeline until they are won or lost.',
  },
  {
    name: 'webhooks',
    'x-displayName': 'Webhook endpoints',
    description: 'URLs that receive events, deliveries with their attempts, and ways to send an event again.',
  },
  {
    name: 'events',
    'x-displayName': 'Events',
    description: 'The log of all events of the account, including events that no endpoint receives.',
  },
  {
    name: 'members',
    'x-displayName': 'Team members',
    description:
      'The people of the account. A member can become a teammate who takes bookings. The API identifies a teammate by email.',
  },
  {
    name: 'keys',
    'x-displayName': 'API keys',
    description:
      'The API keys of the account. A key can issue keys with at most its own scopes, and a test key only test keys.',
  },
  {
    name: 'sandbox',
    'x-displayName': 'Sandbox',
    description:
      "The sandbox's clock, and simulated inbound messages. Advance the clock to run everything that falls due in between, each at its time: reminders, fallbacks, plan expiry and webhook retries.",
  },
];

/** Resources in the order of the reference: in each tag, the most used first. */
const resourceOrder = [
  'me',
  'cdp.contacts',
  'cdp.contacts.consents',
  'cdp.events',
  'cdp.audiences',
  'cdp.audiences.members',
  'cdp.duplicates',
  'calendar.appointments',
  'calendar.freeTimes',
  'calendar.bookingTypes',
  'calendar.staff',
  'calendar.staff.timeOff',
  'calendar.settings',
  'agents',
  'agents.plans',
  'agents.plans.steps',
  'agents.knowledge',
  'agents.knowledge.sources',
  'agents.knowledge.files',
  'agents.knowledge.collections',
  'agents.workflow',
  'agents.workflow.draft',
  'agents.workflow.versions',
  'agents.usage',
  'agents.settings',
  'messages',
  'messages.channels',
  'messages.templates',
  'messages.settings',
  'catalogue.orders',
  'catalogue.products',
  'crm.deals',
  'crm.pipelines',
  'webhooks',
  'webhooks.deliveries',
  'webhooks.replays',
  'events',
  'events.kinds',
  'members',
  'keys',
  'sandbox.clock',
  'sandbox',
];

const methodOrder = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE'];

/**
 * Sorts operations for the reference, by resource. Within a resource, operations on all entries come first, then operations on one entry,
 * then verbs in the path. Throws an Error if `resourceOrder` lacks a resource.
 */
export function inReferenceOrder(operations: readonly Operation[]): Operation[] {
  const placed = operations.map((operation) => ({ operation, place: placeOf(operation) }));
  placed.sort((one, other) => {
    const differing = one.place.findIndex((each, index) => each !== other.place[index]);
    return differing < 0 ? 0 : one.place[differing]! - other.place[differing]!;
  });
  return placed.map(({ operation }) => operation);
}

function placeOf(operation: Operation): number[] {
  const { key, path, method } = operation;
  const resource = resourceOrder.indexOf(resourceOf(clientName(operation)));
  if (resource < 0) throw new Error(`${key}: add its resource to resourceOrder`);
  const parts = path.split('/').length;
  return [resource, parts, path.endsWith('}') ? 0 : 1, methodOrder.indexOf(method)];
}

const quickStart = `One HTTP API with JSON for appointments, AI agents, customer data, orders, pipelines, messages and webhooks. All examples are about one
hair salon, Salon Aurora. Its people, numbers and addresses are invented.

\`\`\`sh
curl {base_url}/v1/me -H 'Authorization: Bearer cp_test_…'
\`\`\`

- Ids are UUIDs, or integers if the field says so. Money is an integer in the currency's minor unit.
- Times are ISO 8601 with an offset. Requests accept any offset; responses use the account's timezone.
- Unknown fields in a body are ignored. An unknown query parameter returns 400, so that a mistyped filter does not list everything.
- A PATCH keeps fields that you leave out, replaces lists whole, and merges objects by key.`;

const authentication = `## Authentication

Send an API key with each request: \`Authorization: Bearer cp_live_…\`. The operator of your installation issues the first key; a key with
\`account:write\` issues others. Each operation names the scope it needs. A write scope does not include the read scope. A key can be limited to
IP addresses and can expire. A revoked key stops working within a second.

A key that begins with \`cp_test_\` acts on the account's **sandbox**, a separate account. The sandbox sends no messages to anyone and costs
nothing for AI. Everything else works as in the live account.`;

const paging = `## Paging

Every list returns \`{data, has_more, next}\`. \`limit\` is the maximum number of entries per page: up to 100, 50 by default. To get the
following page, pass \`next\` as \`starting_after\`; \`next\` is null on the last page. Entries that are created while you page cause no repeats
and no gaps. The time for a page does not depend on its position in the list.

\`\`\`sh
curl '{base_url}/v1/cdp/contacts?limit=100' -H 'Authorization: Bearer cp_test_…'
curl '{base_url}/v1/cdp/contacts?limit=100&starting_after=019a9c5e-2b7a-7c31-9d2f-4e6b8a1c3d50' -H 'Authorization: Bearer cp_test_…'
\`\`\``;

const idempotency = `## Idempotency

If a response is lost, the request may have been processed. Send each POST, PATCH and DELETE with an \`Idempotency-Key\` that is new for each
change, such as a UUID. Retry with the same key until you get a response: the change is made once. For 24 hours, the same request returns the
first response again, with \`Idempotent-Replayed: true\`.

- Responses with 400, 404 and 409 are stored too: correct the request and use a new key.
- Responses with 401, 403, 429, 5xx, and 409 with Retry-After are not stored: retry with the same key.
- A used key with another body returns 400 with the field \`Idempotency-Key\`.
- A PUT is idempotent by itself; an \`Idempotency-Key\` on a PUT is ignored.`;

const rateLimits = `## Rate limits

Each key has a token bucket of \`burst\` requests that refills with \`per_minute\` requests a minute; \`GET /v1/me\` shows both. Every response
to a valid key has \`RateLimit-Policy\` and \`RateLimit\`: \`"key";r=42;t=9\` means 42 requests left and a full bucket in 9 seconds. A request over
the limit changes nothing and returns 429 with \`Retry-After\` in seconds. After 20 invalid keys from an address in a minute, more return 429.`;

const webhooks = `## Webhooks

Register an https URL with \`POST /v1/webhooks\`. The platform sends every event that matches the endpoint's \`events\` as a signed POST, at
least once. The section Webhooks describes each kind of event. Events can arrive out of order, even events of one contact: compare
\`webhook-sequence\`. \`timestamp\` is the time of the event, and \`data.previous\` holds the values that a change replaced.

- **Verify** the raw body as in [Standard Webhooks](https://www.standardwebhooks.com). \`webhook-signature\` is \`v1,\` and the base64 of the
  HMAC-SHA256 of \`{webhook-id}.{webhook-timestamp}.{body}\`; the key is the base64-decoded part of the secret after \`whsec_\`. Reject requests
  more than five minutes old. After a rotation there are several signatures, separated by spaces, until the overlap ends.
- **Respond** with any 2xx within 15 seconds, and process the event afterwards. Redirects are not followed. 410 disables the endpoint.
- **Expect repeats**: \`webhook-id\` is the event's id, the same in every attempt.
- A failed attempt is retried after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h. After that,
  \`POST /v1/webhooks/{endpoint_id}/replay\` sends all failed deliveries of a period again.`;

const versions = `## Versions

The version is in the path: \`/v1\`. Within a version we only add: operations, optional parameters and body fields, response fields, event
kinds, and enum values in responses. Ignore unknown fields, and expect new enum values. A change that would break such a client gets a new
version, and the old version keeps working.`;

/** Returns the document's introduction and guides in Markdown, with a heading for each guide. */
export function guides(): string {
  return [quickStart, authentication, errors(), paging, idempotency, rateLimits, webhooks, versions].join('\n\n');
}

function errors(): string {
  const codes = Object.entries(errorStatus) as [ErrorCode, number][];
  const rows = codes.map(([code, status]) => `| \`${code}\` | ${status} | ${errorMeaning[code]} |`);
  return `## Errors

Every error is \`{"error": {"code", "message", "field"?}}\`. Programs decide by \`code\`. \`message\` tells people what would be right, and \`field\`
names the wrong body field, parameter or header. Quote \`Request-Id\` when you report an error. The code is \`invalid_request\` with the status
405 if the path lacks the method, and with 413 if the body is too large.

| Code | Status | Meaning |
| :- | :- | :- |
${rows.join('\n')}

After a 429 or 503, wait \`Retry-After\` seconds and retry. After a 500, a 503 or a lost connection, retry with the same
\`Idempotency-Key\`.`;
}
