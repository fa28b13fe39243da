import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { operations as ownOperations } from '@customer-platform/contracts';
import { contractDigest } from '@customer-platform/contracts/api-document';
import {
  Announcement,
  announcementTopic,
  announceOperations,
  announcingServices,
  describeApi,
  type RoutedOperation,
  type ServiceName,
  serviceNames,
} from '@customer-platform/contracts/core';
import {
  type Bus,
  type Database,
  isUnavailable,
  type Logger,
  LRUCache,
  noAccount,
} from '@customer-platform/service-kit';
import { type AnnouncedPart, keepAnnounced, selectAnnounced } from './announced-operations.sql.ts';
import { checkOperations, firstIssueOf, type RefusedRoute } from './check-operations.ts';
import { type Route, RouteTable } from './route-table.ts';

/** Time after which a process that has not repeated its announcement counts as ended. */
const aliveMs = 60_000;
/** Time for which the operations of a service that is gone stay known. */
const knownMs = 24 * 3_600_000;
/** Interval at which an announcement is stored again. */
const keepEveryMs = 600_000;
/** Timeout for a service to describe its part of the API. */
const describeMs = 65_000;
/** Maximum size of a service's part of the API document in bytes, uncompressed. */
const maxDocumentBytes = 4 * 1_048_576;
/** Maximum processes whose refused routes are remembered. */
const maxProcesses = 1_000;

interface Part extends AnnouncedPart {
  heardAtMs: number;
  keptAtMs: number;
  isDescribed?: Promise<void> | undefined;
}

const unzip = promisify(gunzip);

/**
 * The operations that the gateway routes: the announced ones of each service. A service without an announcement in the
 * last 24 hours has those in the gateway's own contracts. If two processes of a service announce different operations,
 * the higher version wins. With equal versions, the process that started later wins.
 */
export class AnnouncedOperations {
  /** Grows with each change. */
  version = 0;
  readonly #sql: Database;
  readonly #bus: Bus;
  readonly #log: Logger;
  readonly #clock: () => Date;
  readonly #parts = new Map<ServiceName, Part>();
  readonly #refused = new LRUCache<string, RefusedRoute[]>({ max: maxProcesses, ttl: aliveMs });
  #table = new RouteTable(ownOperations);

  constructor({ sql, bus, log, clock }: { sql: Database; bus: Bus; log: Logger; clock: () => Date }) {
    this.#sql = sql;
    this.#bus = bus;
    this.#log = log;
    this.#clock = clock;
  }

  /** Loads stored announcements, if they can be read, and asks every service to announce itself. */
  async start(): Promise<void> {
    const now = this.#clock();
    const since = new Date(now.getTime() - knownMs);
    const known = await selectAnnounced(this.#sql, since, now).catch((error: unknown) => {
      this.#log.warn({ err: error }, 'stored announcements could not be read; asking the services again');
      return [];
    });
    for (const { ageMs, ...part } of known) {
      const { operations } = checkOperations(part.service, part.operations);
      const heardAtMs = performance.now() - ageMs;
      this.#parts.set(part.service, { ...part, operations, heardAtMs, keptAtMs: heardAtMs });
    }
    this.#change();
    for (const service of announcingServices) {
      this.#bus.onNews(service, announcementTopic, (payload) => this.#hear(service, payload));
    }
    this.#bus.onReconnect(() => ask(this.#bus));
    ask(this.#bus);
  }

  /** Returns the route of a path's segments, or undefined. */
  find(segments: readonly string[]): Route | undefined {
    return this.#table.find(segments);
  }

  /** Returns the operations of a service. */
  of(service: ServiceName): readonly RoutedOperation[] {
    return this.#parts.get(service)?.operations ?? ownOperations.filter((each) => each.service === service);
  }

  /** Returns a service's own part of the OpenAPI document as JSON. Undefined if the gateway's contracts describe it. */
  async documentOf(service: ServiceName): Promise<string | undefined> {
    const { document, contract } = this.#parts.get(service) ?? {};
    if (contract === contractDigest()) return undefined;
    return document ? (await unzip(document, { maxOutputLength: maxDocumentBytes })).toString() : undefined;
  }

  /** Returns the refused routes of a process. */
  refusedOf(service: string, instance: string): readonly RefusedRoute[] {
    return this.#refused.get(`${service} ${instance}`) ?? [];
  }

  #hear(service: ServiceName, payload: string): void {
    const announcement = readAnnouncement(payload);
    if (typeof announcement === 'string') {
      this.#refuse(service, instanceIn(payload), [{ route: null, reason: announcement }]);
      return;
    }
    const { instance, startedAt, contract } = announcement;
    const { operations, refused } = checkOperations(service, announcement.operations);
    const version = announcement.version.split('.').map(Number);
    const part = { service, version, startedAt: new Date(startedAt), contract, operations, document: null };
    const current = this.#parts.get(service);
    const isSame = current !== undefined && isSamePart(current, part);
    const nowMs = performance.now();
    if (!isSame && current && current.heardAtMs > nowMs - aliveMs && comparePlace(part, current) < 0) {
      const reason = `version ${announcement.version} started at ${startedAt} is below ${current.version.join('.')} started at ${current.startedAt.toISOString()}, which announces other operations`;
      this.#refuse(service, instance, [{ route: null, reason }]);
      return;
    }
    this.#refuse(service, instance, refused);
    const next: Part = isSame ? current : { ...part, heardAtMs: nowMs, keptAtMs: Number.NEGATIVE_INFINITY };
    next.heardAtMs = nowMs;
    if (isSame && comparePlace(part, current) > 0) Object.assign(next, { version, startedAt: part.startedAt });
    if (!isSame) {
      this.#parts.set(service, next);
      const count = operations.length;
      this.#log.info({ service, version: announcement.version, operations: count }, 'service announced operations');
    }
    if (next.keptAtMs < nowMs - keepEveryMs) this.#keep(next);
    if (contract !== contractDigest() && !next.document) this.#describe(next);
    const isForgotten = this.#forget(nowMs);
    if (!isSame || isForgotten) this.#change();
  }

  /** Remembers the refused routes of a process, and logs each change once. */
  #refuse(service: ServiceName, instance: string, refused: RefusedRoute[]): void {
    const name = `${service} ${instance}`;
    const before = this.#refused.get(name) ?? [];
    if (refused.length > 0) this.#refused.set(name, refused);
    else this.#refused.delete(name);
    if (refused.length > 0 && JSON.stringify(before) !== JSON.stringify(refused)) {
      this.#log.warn({ service, instance, refused: refused.slice(0, 10) }, 'announced operations are refused');
    }
  }

  /** Drops services that have been gone for a day; returns whether any was dropped. */
  #forget(nowMs: number): boolean {
    const gone = this.#parts.values().filter(({ heardAtMs }) => heardAtMs < nowMs - knownMs);
    return [...gone].map(({ service }) => this.#parts.delete(service)).length > 0;
  }

  #change(): void {
    this.#table = new RouteTable(serviceNames.flatMap((service) => this.of(service)));
    this.version++;
  }

  #keep(part: Part): void {
    part.keptAtMs = performance.now();
    keepAnnounced(this.#sql, part, this.#clock()).catch((error: unknown) => {
      // Only a gateway that starts while the service is gone needs the stored copy, so the next announcement retries this.
      part.keptAtMs = Number.NEGATIVE_INFINITY;
      if (!isUnavailable(error)) this.#log.error({ err: error, service: part.service }, 'announcement was not stored');
    });
  }

  /** Asks a service with other contracts for its part of the document, unless a request is in progress. */
  #describe(part: Part): void {
    const describe = async () => {
      const { document } = await this.#bus.ask(describeApi(part.service), noAccount, {}, describeMs);
      part.document = Buffer.from(document, 'base64');
      this.version++;
      this.#keep(part);
    };
    part.isDescribed ??= describe()
      .catch((error: unknown) => {
        this.#log.warn({ err: error, service: part.service }, 'a service did not describe its operations');
      })
      .finally(() => {
        part.isDescribed = undefined;
      });
  }
}

/** Asks every process to announce itself. */
function ask(bus: Bus): void {
  // The replies do not matter, only the announcements. Processes repeat those, so a lost connection loses nothing.
  bus.askAll(announceOperations, {}, { isComplete: () => true, timeoutMs: 1_000 }).catch(() => undefined);
}

/** Returns an announcement, or a description of what is wrong with it. */
function readAnnouncement(payload: string): Announcement | string {
  let json: unknown;
  try {
    json = JSON.parse(payload);
  } catch {
    return 'the announcement must be JSON';
  }
  const { success, data, error } = Announcement.safeParse(json);
  return success ? data : firstIssueOf(error, 'announcement');
}

/** Returns the process named by a malformed announcement, or an empty string. */
function instanceIn(payload: string): string {
  return /"instance":"([\w-]{1,100})"/.exec(payload.slice(0, 1_000))?.[1] ?? '';
}

function isSamePart(one: AnnouncedPart, other: AnnouncedPart): boolean {
  const facts = ({ contract, operations }: AnnouncedPart) => JSON.stringify([contract, operations]);
  return facts(one) === facts(other);
}

/** Orders announcements of a service by version, then by start time. */
function comparePlace(one: AnnouncedPart, other: AnnouncedPart): number {
  for (const [index, number] of one.version.entries()) {
    if (number !== other.version[index]) return number - other.version[index]!;
  }
  return one.startedAt.getTime() - other.startedAt.getTime();
}
