import { z } from 'zod';
import { instant, text, timestamp, uuid } from '../core/fields.ts';
import { serviceNames } from '../core/modules.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { attentionText } from '../operators/queue-attention.ts';

const service = z.enum(serviceNames);
/** Name of a queue. The service checks that it exists. */
const queueName = text(200, 1);
const reasonOf = (max: number) =>
  text(max, 1).refine((value) => value.trim() !== '', {
    error: `must be a string of 1 to ${max} characters, not blank, that gives the reason`,
  });
/** Reason for a pause or a drop: required, with up to 500 characters instead of 200. */
const reason = reasonOf(500);

/** Optional reason of an operator's change, for the audit log. Changes that require a reason have `reason` instead. */
export const reasonFields = {
  reason: reasonOf(200).optional().meta({ description: 'Reason for the change, for the audit log.' }),
};

/** Part of a queue: the rows of an account or of an endpoint; the whole queue if neither is given. */
const queuePart = {
  account: uuid.optional().meta({ description: 'Id of an account. Default: all accounts.' }),
  endpoint: uuid.optional().meta({ description: 'Id of an endpoint, for webhooks queues. Default: all endpoints.' }),
};

/** A pause that an operator made. */
export const QueuePause = z
  .object({
    account: z.guid().nullable(),
    endpoint: z.guid().nullable(),
    reason: z.string(),
    actor: z.string(),
    at: timestamp,
  })
  .meta({ id: 'QueuePause' });
export type QueuePause = z.infer<typeof QueuePause>;

const depth = {
  ready: z.int().meta({ description: 'Due entries, including paused ones.' }),
  running: z.int(),
  waiting: z.int().meta({ description: 'Entries that are due later.' }),
  failed_waiting: z.int().nullable().meta({
    description:
      'Entries among `waiting` that wait after a failure; a retry makes them due. A queue without an index for them counts only among the 10,000 entries due next. Null for a queue whose failed entries stay due.',
  }),
  dead: z.int().meta({ description: 'Events that failed for good; see `/admin/dead`.' }),
  oldest_due_at: timestamp.nullable().meta({
    description: 'Earliest due time of ready, running and waiting entries, even in the future. Null if none.',
  }),
  last_error: z.string().nullable(),
};

/** Depth of a queue at a time within the last hour. */
export const QueueDepth = z
  .object({ at: timestamp, ready: z.int(), running: z.int(), waiting: z.int(), dead: z.int() })
  .meta({ id: 'QueueDepth' });
export type QueueDepth = z.infer<typeof QueueDepth>;

/** A queue of a service. */
export const Queue = z
  .object({
    service,
    queue: z.string(),
    ...depth,
    lag_seconds: z.number().meta({ description: 'Age of the oldest due entry, in seconds; 0 if there is none.' }),
    paused: z.boolean().meta({ description: 'Whether the whole queue is paused.' }),
    last_error_at: timestamp.nullable(),
    pauses: z.array(QueuePause),
    history: z.array(QueueDepth).nullable().meta({
      description:
        'Depth over the last hour, one entry a minute, oldest first. Each gateway keeps its own history: it has no entries from before its start or while the service was gone. Null without `history=true`.',
    }),
  })
  .meta({ id: 'Queue' });
export type Queue = z.infer<typeof Queue>;

const lastErrorTrace = z
  .string()
  .nullable()
  .meta({ description: 'Id of the trace of the delivery whose attempt failed last; null if it has none.' });

/** The part of a queue that belongs to an account or an endpoint. */
export const QueueShare = z
  .object({
    account: z.guid(),
    endpoint: z.guid().nullable(),
    ...depth,
    failing_since: timestamp
      .nullable()
      .meta({ description: 'First failed attempt after the last success; only for endpoints.' }),
    last_error_trace_id: lastErrorTrace,
  })
  .meta({ id: 'QueueShare' });
export type QueueShare = z.infer<typeof QueueShare>;

/** Services that did not reply in time; their data is missing. */
const gone = z.array(service).meta({ description: 'Services that did not reply within 1 s (endpoints: 4 s).' });

const goneFields = { gone };

export const QueueList = z.object({ data: z.array(Queue), ...goneFields });
export const QueueWithShares = Queue.extend({
  top: z.array(QueueShare).meta({ description: 'Accounts or endpoints with the most entries first, at most 100.' }),
}).meta({ id: 'QueueWithShares' });

/** Both are plain strings, so that the 404 can name the existing services and queues. */
export const queuePath = z.object({ service: z.string(), queue: z.string() });
const history = z.boolean().optional().meta({ description: 'Adds `history`, the depth over the last hour.' });
export const queuesQuery = z.object({
  attention: z
    .boolean()
    .optional()
    .meta({
      description: `True: only queues that ${attentionText}. False: only the other queues.`,
    }),
  history,
});
export const queueQuery = z.object({
  by: z.enum(['account', 'endpoint']).default('account').meta({ description: 'Owners that `top` lists.' }),
  history,
});
export const PauseInput = z.object({ ...queuePart, reason });
export const QueuePart = z.object({ ...queuePart, ...reasonFields });
export const Matched = z.object({ matched: z.int() });

/** An event that a consumer could not process or the bus did not accept. */
export const DeadEvent = z
  .object({
    id: z.guid(),
    service,
    queue: z.string(),
    subject: z.string(),
    account: z.guid().nullable(),
    kind: z.string().nullable(),
    reason: z.string(),
    tries: z.int(),
    size_bytes: z.int(),
    first_at: timestamp,
    dead_at: timestamp,
  })
  .meta({ id: 'DeadEvent' });
export type DeadEvent = z.infer<typeof DeadEvent>;

export const DeadEventWithBytes = DeadEvent.extend({
  bytes: z.string().meta({ description: 'The message, in base64.' }),
  text: z.string().nullable().meta({ description: 'The message as text; null if it is not UTF-8.' }),
  headers: z.record(z.string(), z.string()),
}).meta({ id: 'DeadEventWithBytes' });

/** A page of dead events, without events of services that are gone. */
export const DeadEventList = pageOf(DeadEvent).extend(goneFields);

export const deadPath = z.object({ dead_id: uuid });
export const deadQuery = z.object({
  service: service.optional(),
  queue: queueName.optional(),
  account: uuid.optional(),
  ...pageQuery,
});
export const RequeueInput = z.object({ service, queue: queueName, account: queuePart.account, ...reasonFields });
export const DropInput = z.object({ reason });

/** A webhook endpoint of any account, as operators see it. */
export const OperatedEndpoint = z
  .object({
    id: z.guid(),
    account: z.guid(),
    url: z.string(),
    active: z.boolean(),
    paused: z.boolean().meta({ description: 'Whether an operator paused its deliveries.' }),
    disabled_reason: z.string().nullable(),
    failing_since: timestamp.nullable().meta({ description: 'First failed attempt after the last success.' }),
    pending: z.int().meta({ description: 'Deliveries that are still pending.' }),
    last_error: z.string().nullable(),
    last_error_at: timestamp.nullable(),
    last_error_trace_id: lastErrorTrace,
  })
  .meta({ id: 'OperatedEndpoint' });
export type OperatedEndpoint = z.infer<typeof OperatedEndpoint>;

/** A page of endpoints; empty if the service webhooks is gone. */
export const OperatedEndpointList = pageOf(OperatedEndpoint).extend(goneFields);

export const endpointsQuery = z.object({
  failing: z.boolean().optional().meta({ description: 'True: only failing endpoints. False: only the others.' }),
  url: text(200, 1).optional().meta({ description: 'Only endpoints whose URL contains this text, ignoring case.' }),
  account: uuid.optional().meta({ description: 'Only endpoints of this account.' }),
  endpoint: uuid.optional().meta({ description: 'Only the endpoint with this id.' }),
  ...pageQuery,
});

/** A running process. */
export const LiveProcess = z
  .object({
    service,
    instance: z.string(),
    version: z.string(),
    started_at: timestamp,
    host: z.string(),
    pid: z.int().nullable().meta({ description: 'Id of the process on its host; null in an older version.' }),
    in_flight: z.int().meta({ description: 'Requests in progress.' }),
    event_loop_lag_ms: z.number().meta({ description: 'Longest block of the event loop in the last 10 s.' }),
    memory_bytes: z.int().meta({ description: 'Resident memory.' }),
    pool: z
      .object({ size: z.int(), used: z.int(), waiting: z.int() })
      .meta({ description: 'Database connections, and how many callers wait for one.' }),
    migrations: z.string().meta({ description: "Name of the last migration of the service's schema." }),
    waiting_for: z.string().nullable().meta({ description: 'Unreachable dependencies, separated by commas.' }),
    refused: z.array(z.object({ route: z.string().nullable(), reason: z.string() })).meta({
      description:
        'Announced operations that the gateway does not route to the process, and why. `route` is method and path; null for all operations.',
    }),
  })
  .meta({ id: 'LiveProcess' });
export type LiveProcess = z.infer<typeof LiveProcess>;

export const LiveProcessList = z.object({ data: z.array(LiveProcess), ...goneFields });

export const RepublishInput = z.object({
  since: instant.meta({ description: 'At most 7 days ago, since published events are kept for 7 days.' }),
  service: service.optional().meta({ description: 'Service whose events are published again. Default: all.' }),
  ...reasonFields,
});

/** Actions that the audit log records. */
export const auditActions = [
  'queues.pause',
  'queues.resume',
  'queues.retry',
  'dead.requeue',
  'dead.drop',
  'events.republish',
  'accounts.create',
  'accounts.update',
  'keys.create',
  'keys.rotate',
  'keys.revoke',
  'members.add',
  'members.remove',
  'endpoints.enable',
  'endpoints.replay',
  'messages.resend',
] as const;

/** A change made by an operator or by a customer's API key. */
export const AuditEntry = z
  .object({
    id: z.guid(),
    at: timestamp,
    actor: z.string().meta({
      description:
        'A name from ADMIN_TOKENS, `admin` for ADMIN_TOKEN, or `key:…` with the last four characters of an API key.',
    }),
    action: z.enum(auditActions),
    account: z.guid().nullable(),
    target: z.string().meta({ examples: ['webhooks/deliveries', 'accounts/0198a1b2-…'] }),
    reason: z.string().nullable().meta({ description: 'The reason that was given; null if there was none.' }),
    before: z.record(z.string(), z.unknown()).nullable(),
    after: z.record(z.string(), z.unknown()).nullable().meta({ description: 'The change, without secrets.' }),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.infer<typeof AuditEntry>;

export const auditQuery = z.object({ account: uuid.optional(), actor: text(100, 1).optional(), ...pageQuery });
