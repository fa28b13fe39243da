import { z } from 'zod';
import { type ServiceName, serviceNames } from './modules.ts';
import { type InternalRequest, internalRequest } from './request.ts';

const time = z.iso.datetime();
const id = z.guid();

/** Part of a queue: the whole of it, the rows of an account, or those of one of its endpoints. */
export const QueuePart = z.object({ queue: z.string(), account: id.optional(), endpoint: id.optional() });
export type QueuePart = z.infer<typeof QueuePart>;

/** A queue as its service measures it; each process says for itself what runs there, and the last error. */
export const MeasuredQueue = z.object({
  queue: z.string(),
  /** Rows that are due. */
  ready: z.number(),
  /** Rows that are due later; those included that run, where `hasLeases`. */
  later: z.number(),
  hasLeases: z.boolean(),
  /** Rows among `later` that wait after a failure; absent where counting them would take too long. */
  failedLater: z.number().optional(),
  dead: z.number(),
  /** Due time of the oldest; may lie ahead. */
  oldestAt: time.nullable(),
  pauses: z.array(
    z.object({ account: id.nullable(), endpoint: id.nullable(), reason: z.string(), actor: z.string(), at: time }),
  ),
});
export type MeasuredQueue = z.infer<typeof MeasuredQueue>;

/** The part of a queue that belongs to an account, or to an endpoint. */
export const OwnerDepth = z.object({
  account: id,
  endpoint: id.nullable(),
  ready: z.number(),
  later: z.number(),
  failedLater: z.number().optional(),
  dead: z.number(),
  oldestAt: time.nullable(),
  lastError: z.string().nullable(),
  lastErrorTraceId: z.string().nullish(),
  failingSince: time.nullable(),
});
export type OwnerDepth = z.infer<typeof OwnerDepth>;

/** A change of a queue, or the reason that there is none. */
const changed = z.object({
  /** The queues that there are, where the one that was named is not. */
  queues: z.array(z.string()).optional(),
  refusal: z.enum(['no_endpoints', 'unknown_endpoint']).optional(),
  matched: z.number(),
  /** The pause that was lifted. */
  before: z.object({ reason: z.string(), actor: z.string() }).optional(),
});

/** A dead event without its bytes. */
export const DeadRecord = z.object({
  id,
  queue: z.string(),
  subject: z.string(),
  account: id.nullable(),
  kind: z.string().nullable(),
  reason: z.string(),
  tries: z.number(),
  sizeBytes: z.number(),
  firstAt: time,
  deadAt: time,
});
export type DeadRecord = z.infer<typeof DeadRecord>;

/** One process of a service, as it describes itself. */
export const ProcessReport = z.object({
  service: z.enum(serviceNames),
  instance: z.string(),
  version: z.string(),
  startedAt: time,
  host: z.string(),
  /** Id of the process on its host; absent from a process of an older version. */
  pid: z.int().optional(),
  inFlight: z.number(),
  eventLoopLagMs: z.number(),
  memoryBytes: z.number(),
  pool: z.object({ size: z.number(), used: z.number(), waiting: z.number() }),
  migrations: z.string(),
  waitingFor: z.string().nullable(),
  queues: z.array(
    z.object({
      queue: z.string(),
      running: z.number(),
      lastError: z.string().nullable(),
      lastErrorAt: time.nullable(),
    }),
  ),
  /** Entries of the queue that was asked for that run here. */
  owners: z.array(z.object({ account: id, endpoint: id.optional(), running: z.number() })),
});
export type ProcessReport = z.infer<typeof ProcessReport>;

/** Has every process of every service describe itself; with `queue` also what of it runs there, by account and endpoint. */
export const describeProcess = {
  key: 'describeProcess',
  input: z.object({
    queue: z.object({ service: z.enum(serviceNames), queue: z.string() }).optional(),
    /** Has the processes of this service read its pauses again before they reply. */
    pausesOf: z.enum(serviceNames).optional(),
  }),
  reply: ProcessReport,
} as const;

/** Moves the clock of a sandbox account forward in every process of every service, and says so once its database has it. */
export const moveClock = {
  key: 'moveClock',
  input: z.object({ account: id, aheadMs: z.number().min(0) }),
  reply: z.object({ service: z.enum(serviceNames), instance: z.string() }),
} as const;

/** The work of an account in a service, as its clock sees it. */
export const ClockLook = z.object({
  /** Queues with work that is due or under way; empty where all is quiet. */
  waitsFor: z.array(z.string()),
  /** The next moment, in the account's time, as epoch milliseconds. */
  nextMs: z.number().nullable(),
  /** Grows with each event of the account. */
  mark: z.number(),
});
export type ClockLook = z.infer<typeof ClockLook>;

/** Requests that every service handles for operators and for the clocks of accounts, under its own name. */
export function operatorRequests<Service extends ServiceName>(service: Service) {
  const request = <Key extends string, Input extends z.ZodType, Reply extends z.ZodType>(
    key: Key,
    input: Input,
    reply: Reply,
  ): InternalRequest<Key, Input, Reply> => internalRequest(key, service, input, reply);
  return {
    measureQueues: request('measureQueues', z.object({}), z.object({ queues: z.array(MeasuredQueue) })),
    /** The owners, deepest first, 100 at most; null where there is no such queue. */
    measureOwners: request(
      'measureOwners',
      z.object({ queue: z.string(), by: z.enum(['account', 'endpoint']) }),
      z.object({ owners: z.array(OwnerDepth).nullable() }),
    ),
    pauseQueue: request('pauseQueue', QueuePart.extend({ reason: z.string(), actor: z.string() }), changed),
    resumeQueue: request('resumeQueue', QueuePart, changed),
    retryQueue: request('retryQueue', QueuePart, changed),
    /** Newest first, those that died before `before`: its time, and its id among those of one time. */
    listDeadEvents: request(
      'listDeadEvents',
      z.object({
        queue: z.string().optional(),
        account: id.optional(),
        before: z.object({ deadAt: time, id }).optional(),
        limit: z.int(),
      }),
      z.object({ data: z.array(DeadRecord) }),
    ),
    findDeadEvent: request(
      'findDeadEvent',
      z.object({ id }),
      z.object({ dead: DeadRecord.extend({ headers: z.record(z.string(), z.string()) }).nullable() }),
    ),
    /** At most 512 KiB of the bytes from `offset` on, in base64: a reply is a message of the bus. */
    readDeadBytes: request('readDeadBytes', z.object({ id, offset: z.int() }), z.object({ bytes: z.string() })),
    requeueDeadEvents: request(
      'requeueDeadEvents',
      z.object({ id: id.optional(), queue: z.string().optional(), account: id.optional() }),
      z.object({ matched: z.number(), queues: z.array(z.string()).optional() }),
    ),
    dropDeadEvent: request('dropDeadEvent', z.object({ id }), z.object({ matched: z.number() })),
    /** Looks at the account that it is asked for, with the stream's position up to which all events have to be taken; null where there are none. */
    lookAtClock: request('lookAtClock', z.object({ position: z.number().nullable() }), ClockLook),
    /** Publishes events since an instant again, in batches; returns how many there are, 100,000 where there are more. */
    republishEvents: request('republishEvents', z.object({ since: time }), z.object({ matched: z.int().min(0) })),
  };
}
