import { clientName, resourceOf } from './client-names.ts';
import { type ErrorCode, errorMeaning, errorStatus } from './core/errors.ts';
import type { Operation } from './core/operation.ts';

/** The document's tags: the second part of every path, with its name in the reference and what it is for. */
export const tags = [
  {
    name: 'me',
    'x-displayName': 'Account',
    description: 'The account, scopes, modules and rate limit of the key that is used. A good first request.',
  },
  {
    name: 'cdp',
    'x-displayName': 'Customer data',
    description:
      'Contacts, what they have consented to and what they did; audiences whose members follow from rules; and pairs of contacts that are likely one person.',
  },
  {
    name: 'calendar',
    'x-displayName': 'Calendar',
    description:
      'Appointments of contacts with teammates. Set up staff profiles and booking types once, list free times, and book one: a time that is listed can be booked, and no teammate is ever booked twice at a time.',
  },
  {
    name: 'agents',
    'x-displayName': 'AI agents',
    description:
      'Agents that reply to customers by a plan, which a person approves unless you decide otherwise; the knowledge that they reply from; their workflows; and what their AI costs.',
  },
  {
    name: 'messages',
    'x-displayName': 'Messages',
    description:
      'Messages by WhatsApp, SMS and email, with the next channel where one reaches nobody; the providers of the channels; and the texts that the platform sends on its own. In the sandbox nothing is sent: an address that ends in 01 is delivered, in 02 read, in 03 refused, and 04 gets no receipt.',
  },
  {
    name: 'catalogue',
    'x-displayName': 'Catalogue',
    description: 'Products, and orders from the first item to fulfilment.',
  },
  {
    name: 'crm',
    'x-displayName': 'Pipelines',
    description: 'Deals that move through the stages of a pipeline until they are won or lost.',
  },
  {
    name: 'webhooks',
    'x-displayName': 'Webhook endpoints',
    description: 'Where events are sent to, each delivery with its tries, and ways to send one again.',
  },
  {
    name: 'events',
    'x-displayName': 'Events',
    description: 'The log of all events of the account, whether an endpoint gets them or not.',
  },
  {
    name: 'members',
    'x-displayName': 'Team members',
    description:
      'The people of the account. A member can become a teammate who takes bookings; a teammate is named by email.',
  },
  {
    name: 'keys',
    'x-displayName': 'API keys',
    description:
      'The keys of the account. A key issues keys with at most its own scopes, and a test key test keys only.',
  },
  {
    name: 'sandbox',
    'x-displayName': 'Sandbox',
    description:
      "The sandbox's clock. Advance it, and all that falls due on the way happens at its time: reminders, fallbacks, plans that lapse, retries of webhooks.",
  },
];

/** The resources of each tag, in the order of the reference: what people come for first. */
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
 * Returns operations as the reference lists them: by resource; of each first what is done to all of them, then to one, then by a verb in the path. Throws
 * an Error where a resource has no place.
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
  if (resource < 0) throw new Error(`${key}: name the place of its resource in resourceOrder`);
  const parts = path.split('/').length;
  return [resource, parts, path.endsWith('}') ? 0 : 1, methodOrder.indexOf(method)];
}

const quickStart = `Appointments, AI agents, customer data, orders, pipelines, messages and webhooks behind one HTTP API of JSON. All examples are about one
hair salon, Salon Aurora; its people, numbers and addresses are invented.

\`\`\`sh
curl {base_url}/v1/me -H 'Authorization: Bearer cp_test_…'
\`\`\`

Ids are UUIDs, or integers where a field says so. Times are ISO 8601 with an offset: any is accepted, and responses have the account's
timezone. Money is an integer in the currency's minor unit. Unknown fields of a body are ignored; an unknown query parameter is refused, so
that a mistyped filter does not list everything. In a PATCH, a field that is left out stays as it is, a list is replaced whole, and an object
merges by key.`;

const authentication = `## Authentication

Send an API key with each request: \`Authorization: Bearer cp_live_…\`. The operator of your installation issues the first key; one with
\`account:write\` issues others. Each operation says which scope it needs; a scope to write does not include the one to read. A key may be bound to
IP addresses and may expire; a revoked one stops working within a second.

A key that begins with \`cp_test_\` acts on the account's **sandbox**, an account of its own: no message reaches anybody, no AI is billed, and
everything else works as it does live.`;

const paging = `## Paging

Every list returns \`{data, has_more, next}\`. Ask for up to 100 entries with \`limit\` (default: 50), and for the following page with
\`starting_after\`, which is the \`next\` of the page before; it is null on the last page. Entries that are created while you page are neither
repeated nor do they hide others, and the thousandth page is as fast as the first.

\`\`\`sh
curl '{base_url}/v1/cdp/contacts?limit=100' -H 'Authorization: Bearer cp_test_…'
curl '{base_url}/v1/cdp/contacts?limit=100&starting_after=019a9c5e-2b7a-7c31-9d2f-4e6b8a1c3d50' -H 'Authorization: Bearer cp_test_…'
\`\`\``;

const idempotency = `## Idempotency

A request whose response got lost may have done its work. Send each POST, PATCH and DELETE with an \`Idempotency-Key\` that is new for each
change, such as a UUID, and repeat it with the same key until there is a response: the change is made once. For 24 hours the same request gets
the first response again, with \`Idempotent-Replayed: true\`.

- Refusals with 400, 404 and 409 are kept too: use a new key once you have corrected the request. 401, 403, 429, 5xx and a 409 with
  Retry-After are not kept: repeat those with the same key.
- Another body under a used key is refused with 400, field \`Idempotency-Key\`.
- A PUT needs no key, since repeating it leads to the same state.`;

const rateLimits = `## Rate limits

Each key has a bucket of \`burst\` requests that refills with \`per_minute\`; \`GET /v1/me\` shows both. \`RateLimit-Policy\` and \`RateLimit\` come
with every response: \`RateLimit: "key";r=42;t=9\` means that 42 requests are left and that the bucket is full again in 9 seconds. Beyond it a
request is refused with 429 and \`Retry-After\`, in seconds, and has done nothing. Many invalid keys from one address lead to a 429 too.`;

const webhooks = `## Webhooks

Register an https URL with \`POST /v1/webhooks\`, and every event that matches its \`events\` is sent there as a signed POST, at least once. Each
kind of event is described under Webhooks. Events of one contact or order may arrive in another order than they happened in: \`timestamp\` is
when, and \`data.previous\` has the values that a change replaced.

- **Verify** the raw body by [Standard Webhooks](https://www.standardwebhooks.com): \`webhook-signature\` is \`v1,\` and the base64 of the
  HMAC-SHA256 of \`{webhook-id}.{webhook-timestamp}.{body}\`, keyed with the base64-decoded secret after \`whsec_\`. Refuse what is more than
  five minutes old. While a rotated secret still signs, there are several signatures, separated by spaces.
- **Respond** with any 2xx within 15 seconds and work afterwards. Redirects are not followed; 410 switches the endpoint off.
- **Expect repeats**: \`webhook-id\` is the event's id and the same on each try.
- A failed delivery is tried again after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h. Afterwards
  \`POST /v1/webhooks/{endpoint_id}/replay\` sends all failed deliveries of a period again.`;

const versions = `## Versions

The version is in the path: \`/v1\`. Within it we only add: operations, optional parameters and fields of a body, fields of a response, kinds
of event, and values of an enum in a response. Ignore fields that you do not know, and expect values that you do not know. What would break a
client that does so gets a new version, beside which this one goes on.`;

/** Returns what the document says about the whole API, in Markdown with one heading for each guide. */
export function guides(): string {
  return [quickStart, authentication, errors(), paging, idempotency, rateLimits, webhooks, versions].join('\n\n');
}

function errors(): string {
  const codes = Object.entries(errorStatus) as [ErrorCode, number][];
  const rows = codes.map(([code, status]) => `| \`${code}\` | ${status} | ${errorMeaning[code]} |`);
  return `## Errors

Every error is \`{"error": {"code", "message", "field"?}}\`. Decide by \`code\`; \`message\` is a sentence for people that says what would be right,
and \`field\` names the body field, parameter or header at fault. Quote \`Request-Id\` when you report one. A method that a path does not have is
\`invalid_request\` with 405, and a body that is too large with 413.

| Code | Status | Meaning |
| :- | :- | :- |
${rows.join('\n')}

Repeat a request after a 429 or 503, once \`Retry-After\` seconds have passed; after a 500 or a lost connection, repeat it with the same
\`Idempotency-Key\`.`;
}
