import { z } from 'zod';
import { instant, text, timestamp, uuid } from '../core/fields.ts';
import { serviceNames } from '../core/modules.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { attentionText } from '../operators/queue-attention.ts';

const service = z.enum(serviceNames);
/** A queue's name as a path has it; which there are, the service says. */
const queueName = text(200, 1);
const reasonOf = (max: number) =>
  text(max, 1).refine((value) => value.trim() !== '', {
    error: `must be a string of 1 to ${max} characters, not blank, that says why`,
  });
/** Why something is paused or dropped: required, and longer than others, which came later. */
const reason = reasonOf(500);

/** Why an operator makes a change, as the audit log shows it: part of every change but those that require it. */
export const reasonFields = {
  reason: reasonOf(200).optional().meta({ description: 'Why, for the audit log.' }),
};

/** Part of a queue: the rows of an account, or of one of its endpoints; all of it unless given. */
const queuePart = {
  account: uuid.optional().meta({ description: 'Id of an account; default: all.' }),
  endpoint: uuid.optional().meta({ description: 'Id of an endpoint, for the queues of webhooks; default: all.' }),
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
  ready: z.int().meta({ description: 'Entries that are due, paused ones included.' }),
  running: z.int(),
  waiting: z.int().meta({ description: 'Entries that are due later.' }),
  failed_waiting: z.int().nullable().meta({
    description:
      'Those of `waiting` that wait after a failure, which a retry makes due. Of a queue without an index for it, those among the 10,000 entries due next are counted. Null for queues that have none: what fails there stays due.',
  }),
  dead: z.int().meta({ description: 'Events that were given up; see /admin/dead.' }),
  oldest_due_at: timestamp.nullable().meta({
    description: 'Earliest due time of what is ready, running or waiting; may lie ahead. Null if there is nothing.',
  }),
  last_error: z.string().nullable(),
};

/** Depth of a queue at one time of the last hour. */
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
    lag_seconds: z.number().meta({ description: 'Age of the oldest entry that is due, in seconds; 0 if none is.' }),
    paused: z.boolean().meta({ description: 'Whether the whole queue is paused.' }),
    last_error_at: timestamp.nullable(),
    pauses: z.array(QueuePause),
    history: z.array(QueueDepth).nullable().meta({
      description:
        'Depth over the last hour, one entry a minute, oldest first, as the gateway that responds has seen it: none from before its start or while the service was gone. Null without `history=true`.',
    }),
  })
  .meta({ id: 'Queue' });
export type Queue = z.infer<typeof Queue>;

const lastErrorTrace = z
  .string()
  .nullable()
  .meta({ description: 'Id of the trace of the delivery whose try failed last, if it has one.' });

/** The part of a queue that belongs to an account or an endpoint. */
export const QueueShare = z
  .object({
    account: z.guid(),
    endpoint: z.guid().nullable(),
    ...depth,
    failing_since: timestamp
      .nullable()
      .meta({ description: 'First failed try after the last success; endpoints only.' }),
    last_error_trace_id: lastErrorTrace,
  })
  .meta({ id: 'QueueShare' });
export type QueueShare = z.infer<typeof QueueShare>;

/** Services of which no process replied within a second. */
const gone = z.array(service).meta({ description: 'Services of which no process replied within 1 s.' });

const goneFields = { gone };

export const QueueList = z.object({ data: z.array(Queue), ...goneFields });
export const QueueWithShares = Queue.extend({
  top: z.array(QueueShare).meta({ description: 'Deepest first, 100 at most.' }),
}).meta({ id: 'QueueWithShares' });

/** Both are text: the refusal says which services and queues there are. */
export const queuePath = z.object({ service: z.string(), queue: z.string() });
const history = z.boolean().optional().meta({ description: 'Adds `history`, the depth over the last hour.' });
export const queuesQuery = z.object({
  attention: z
    .boolean()
    .optional()
    .meta({
      description: `Only queues that ${attentionText}; or only the others.`,
    }),
  history,
});
export const queueQuery = z.object({
  by: z.enum(['account', 'endpoint']).default('account').meta({ description: 'What `top` groups by.' }),
  history,
});
export const PauseInput = z.object({ ...queuePart, reason });
export const QueuePart = z.object({ ...queuePart, ...reasonFields });
export const Matched = z.object({ matched: z.int() });

/** An event that no consumer could take or the bus would not carry. */
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
  text: z.string().nullable().meta({ description: 'The same as text; null if it is not UTF-8.' }),
  headers: z.record(z.string(), z.string()),
}).meta({ id: 'DeadEventWithBytes' });

/** A page of dead events; those of services that are gone are not in it. */
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
    failing_since: timestamp.nullable().meta({ description: 'First failed try after the last success.' }),
    pending: z.int().meta({ description: 'Deliveries that are not ended.' }),
    last_error: z.string().nullable(),
    last_error_at: timestamp.nullable(),
    last_error_trace_id: lastErrorTrace,
  })
  .meta({ id: 'OperatedEndpoint' });
export type OperatedEndpoint = z.infer<typeof OperatedEndpoint>;

/** A page of endpoints; there are none where webhooks is gone. */
export const OperatedEndpointList = pageOf(OperatedEndpoint).extend(goneFields);

export const endpointsQuery = z.object({
  failing: z.boolean().optional().meta({ description: 'Only endpoints that fail, or only those that do not.' }),
  url: text(200, 1).optional().meta({ description: 'Only endpoints whose URL has this, in whatever case.' }),
  account: uuid.optional().meta({ description: 'Only endpoints of this account.' }),
  endpoint: uuid.optional().meta({ description: 'Only the endpoint with this id.' }),
  ...pageQuery,
});

/** A process that runs. */
export const LiveProcess = z
  .object({
    service,
    instance: z.string(),
    version: z.string(),
    started_at: timestamp,
    host: z.string(),
    pid: z.int().nullable().meta({ description: 'Id of the process on its host; null for one of an older version.' }),
    in_flight: z.int().meta({ description: 'Requests under way.' }),
    event_loop_lag_ms: z.number().meta({ description: 'Longest delay of the event loop in the last 10 s.' }),
    memory_bytes: z.int().meta({ description: 'Resident memory.' }),
    pool: z
      .object({ size: z.int(), used: z.int(), waiting: z.int() })
      .meta({ description: 'Database connections, and what waits for one.' }),
    migrations: z.string().meta({ description: "Name of the last migration of the service's schema." }),
    waiting_for: z.string().nullable().meta({ description: 'Dependency that the process cannot reach.' }),
    refused: z.array(z.object({ route: z.string().nullable(), reason: z.string() })).meta({
      description:
        'Operations that the process announces and the gateway does not route to, by method and path; null for all of them.',
    }),
  })
  .meta({ id: 'LiveProcess' });
export type LiveProcess = z.infer<typeof LiveProcess>;

export const LiveProcessList = z.object({ data: z.array(LiveProcess), ...goneFields });

export const RepublishInput = z.object({
  since: instant.meta({ description: 'At most 7 days ago; published events are kept for 7 days.' }),
  service: service.optional().meta({ description: 'The service whose events are published again; default: all.' }),
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

/** A change that an operator, or a customer's API key, made. */
export const AuditEntry = z
  .object({
    id: z.guid(),
    at: timestamp,
    actor: z.string().meta({
      description:
        'A name of ADMIN_TOKENS; `admin` for ADMIN_TOKEN; for an API key `key:…` with its last four characters.',
    }),
    action: z.enum(auditActions),
    account: z.guid().nullable(),
    target: z.string().meta({ examples: ['webhooks/deliveries', 'accounts/0198a1b2-…'] }),
    reason: z.string().nullable().meta({ description: 'Why, in the words of whoever made it.' }),
    before: z.record(z.string(), z.unknown()).nullable(),
    after: z.record(z.string(), z.unknown()).nullable().meta({ description: 'What changed, without secrets.' }),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.infer<typeof AuditEntry>;

export const auditQuery = z.object({ account: uuid.optional(), actor: text(100, 1).optional(), ...pageQuery });
