import { z } from 'zod';
import { type ServiceName, serviceNames } from './modules.ts';
import { type InternalRequest, internalRequest } from './request.ts';

const time = z.iso.datetime();
const id = z.guid();

/** Part of a queue: the whole queue, the rows of an account, or the rows of an endpoint. */
export const QueuePart = z.object({ queue: z.string(), account: id.optional(), endpoint: id.optional() });
export type QueuePart = z.infer<typeof QueuePart>;

/** A queue as its service measures it. Running entries and the last error are in each process's `ProcessReport`. */
export const MeasuredQueue = z.object({
  queue: z.string(),
  /** Due rows. */
  ready: z.number(),
  /** Rows that are due later. If `hasLeases`, these include the running rows. */
  later: z.number(),
  hasLeases: z.boolean(),
  /** Rows among `later` that wait after a failure; absent if failed entries of the queue stay due. */
  failedLater: z.number().optional(),
  dead: z.number(),
  /** Earliest due time; may be in the future. */
  oldestAt: time.nullable(),
  pauses: z.array(
    z.object({ account: id.nullable(), endpoint: id.nullable(), reason: z.string(), actor: z.string(), at: time }),
  ),
});
export type MeasuredQueue = z.infer<typeof MeasuredQueue>;

/** The part of a queue that belongs to an account or an endpoint. */
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

/** Result of a change to a queue, or why it was refused. */
const changed = z.object({
  /** Names of the existing queues, if the named queue does not exist. */
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
  /** Entries of the requested queue that run in this process. */
  owners: z.array(z.object({ account: id, endpoint: id.optional(), running: z.number() })),
});
export type ProcessReport = z.infer<typeof ProcessReport>;

/** Makes every process of every service describe itself. With `queue`, the reports include its running entries by owner. */
export const describeProcess = {
  key: 'describeProcess',
  input: z.object({
    queue: z.object({ service: z.enum(serviceNames), queue: z.string() }).optional(),
    /** The processes of this service reload its pauses before they reply. */
    pausesOf: z.enum(serviceNames).optional(),
  }),
  reply: ProcessReport,
} as const;

/** Moves a sandbox account's clock forward in every process. A process replies once its service's database has the time. */
export const moveClock = {
  key: 'moveClock',
  input: z.object({ account: id, aheadMs: z.number().min(0) }),
  reply: z.object({ service: z.enum(serviceNames), instance: z.string() }),
} as const;

/** State of an account's work in one service, for the sandbox clock. */
export const ClockLook = z.object({
  /** Queues with due or running work; empty if there is none. */
  waitsFor: z.array(z.string()),
  /** Next due time by the account's clock, in epoch milliseconds; null if nothing is scheduled. */
  nextMs: z.number().nullable(),
  /** Increases with each event of the account. */
  mark: z.number(),
});
export type ClockLook = z.infer<typeof ClockLook>;

/** Returns the internal requests that every service handles for operators and for sandbox clocks. */
export function operatorRequests<Service extends ServiceName>(service: Service) {
  const request = <Key extends string, Input extends z.ZodType, Reply extends z.ZodType>(
    key: Key,
    input: Input,
    reply: Reply,
  ): InternalRequest<Key, Input, Reply> => internalRequest(key, service, input, reply);
  return {
    measureQueues: request('measureQueues', z.object({}), z.object({ queues: z.array(MeasuredQueue) })),
    /** Returns the accounts or endpoints with most entries, at most 100, deepest first; null if the queue does not exist. */
    measureOwners: request(
      'measureOwners',
      z.object({ queue: z.string(), by: z.enum(['account', 'endpoint']) }),
      z.object({ owners: z.array(OwnerDepth).nullable() }),
    ),
    pauseQueue: request('pauseQueue', QueuePart.extend({ reason: z.string(), actor: z.string() }), changed),
    resumeQueue: request('resumeQueue', QueuePart, changed),
    retryQueue: request('retryQueue', QueuePart, changed),
    /** Returns dead events, newest first, that come after `before` in this order: by time, then by id. */
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
    /** Returns at most 512 KiB of the bytes from `offset`, in base64, since a bus message has a maximum size. */
    readDeadBytes: request('readDeadBytes', z.object({ id, offset: z.int() }), z.object({ bytes: z.string() })),
    requeueDeadEvents: request(
      'requeueDeadEvents',
      z.object({ id: id.optional(), queue: z.string().optional(), account: id.optional() }),
      z.object({ matched: z.number(), queues: z.array(z.string()).optional() }),
    ),
    dropDeadEvent: request('dropDeadEvent', z.object({ id }), z.object({ matched: z.number() })),
    /** Looks at the account's work. Consumers must have taken all events up to the stream's `position`; null requires none. */
    lookAtClock: request('lookAtClock', z.object({ position: z.number().nullable() }), ClockLook),
    /** Publishes events since an instant again, in batches. `matched` is their number, at most 100,000. */
    republishEvents: request('republishEvents', z.object({ since: time }), z.object({ matched: z.int().min(0) })),
  };
}
