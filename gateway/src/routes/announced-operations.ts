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

/** Time after which a process that has not announced itself again counts as ended. */
const aliveMs = 60_000;
/** Time for which the operations of a service that is gone are known. */
const knownMs = 24 * 3_600_000;
/** Time after which it is written again that a service is there. */
const keepEveryMs = 600_000;
/** Time in which a service describes its part of the API. */
const describeMs = 65_000;
/** Largest part of the API's document, in bytes, before compression. */
const maxDocumentBytes = 4 * 1_048_576;
/** Processes whose refused routes are remembered. */
const maxProcesses = 1_000;

interface Part extends AnnouncedPart {
  heardAtMs: number;
  keptAtMs: number;
  isDescribed?: Promise<void> | undefined;
}

const unzip = promisify(gunzip);

/**
 * The operations that the gateway routes by: what each service announced, and what the gateway's own contracts say of those that did not
 * in the last 24 hours. Of two processes of a service that announce different operations the one with the higher version is believed; of
 * one version, the one that started later.
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

  /** Begins with what was announced before, if that can be read, and has every service announce itself. */
  async start(): Promise<void> {
    const now = this.#clock();
    const since = new Date(now.getTime() - knownMs);
    const known = await selectAnnounced(this.#sql, since, now).catch((error: unknown) => {
      this.#log.warn({ err: error }, 'what services announced before cannot be read; they are asked');
      return [];
    });
    for (const { ageMs, ...part } of known) {
      const { operations } = checkOperations(part.service, part.operations);
      const heardAtMs = performance.now() - ageMs;
      this.#parts.set(part.service, { ...part, operations, heardAtMs, keptAtMs: heardAtMs });
    }
    this.#change();
    for (const service of announcingServices) {
      this.#bus.hearOf(service, announcementTopic, (payload) => this.#hear(service, payload));
    }
    this.#bus.onBack(() => ask(this.#bus));
    ask(this.#bus);
  }

  /** Returns the route of a path's segments, undefined if there is none. */
  find(segments: readonly string[]): Route | undefined {
    return this.#table.find(segments);
  }

  /** Returns the operations of a service. */
  of(service: ServiceName): readonly RoutedOperation[] {
    return this.#parts.get(service)?.operations ?? ownOperations.filter((each) => each.service === service);
  }

  /** Returns a service's own part of the OpenAPI document as JSON; undefined where the gateway's contracts have it. */
  async documentOf(service: ServiceName): Promise<string | undefined> {
    const { document, contract } = this.#parts.get(service) ?? {};
    if (contract === contractDigest()) return undefined;
    return document ? (await unzip(document, { maxOutputLength: maxDocumentBytes })).toString() : undefined;
  }

  /** Returns what a process announced in vain. */
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
      const reason = `version ${announcement.version} of ${startedAt} is below ${current.version.join('.')} of ${current.startedAt.toISOString()}, which announces other operations`;
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
      this.#log.info({ service, version: announcement.version, operations: count }, 'operations of a service');
    }
    if (next.keptAtMs < nowMs - keepEveryMs) this.#keep(next);
    if (contract !== contractDigest() && !next.document) this.#describe(next);
    const isForgotten = this.#forget(nowMs);
    if (!isSame || isForgotten) this.#change();
  }

  /** Notes what a process announced in vain; says it once. */
  #refuse(service: ServiceName, instance: string, refused: RefusedRoute[]): void {
    const name = `${service} ${instance}`;
    const before = this.#refused.get(name) ?? [];
    if (refused.length > 0) this.#refused.set(name, refused);
    else this.#refused.delete(name);
    if (refused.length > 0 && JSON.stringify(before) !== JSON.stringify(refused)) {
      this.#log.warn({ service, instance, refused: refused.slice(0, 10) }, 'announced operations are refused');
    }
  }

  /** Forgets services that have been gone for a day; returns whether there were any. */
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
      // Whether it is written is of use to a gateway that starts while the service is gone: it is tried again with a later announcement.
      part.keptAtMs = Number.NEGATIVE_INFINITY;
      if (!isUnavailable(error)) this.#log.error({ err: error, service: part.service }, 'an announcement was not kept');
    });
  }

  /** Asks a service with other contracts for its part of the document, unless that is under way. */
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

/** Has every process announce itself. */
function ask(bus: Bus): void {
  // Each replies at once; what counts is that it announces itself, which it does again and again: a connection that ends now loses nothing.
  bus.askAll(announceOperations, {}, { isComplete: () => true, timeoutMs: 1_000 }).catch(() => undefined);
}

/** Returns an announcement, or what is wrong with it. */
function readAnnouncement(payload: string): Announcement | string {
  let json: unknown;
  try {
    json = JSON.parse(payload);
  } catch {
    return 'the announcement is no JSON';
  }
  const { success, data, error } = Announcement.safeParse(json);
  return success ? data : firstIssueOf(error, 'announcement');
}

/** Returns the process that a malformed announcement names; an empty text where it names none. */
function instanceIn(payload: string): string {
  return /"instance":"([\w-]{1,100})"/.exec(payload.slice(0, 1_000))?.[1] ?? '';
}

function isSamePart(one: AnnouncedPart, other: AnnouncedPart): boolean {
  const facts = ({ contract, operations }: AnnouncedPart) => JSON.stringify([contract, operations]);
  return facts(one) === facts(other);
}

/** Orders announcements of a service by version, then by the start of the process. */
function comparePlace(one: AnnouncedPart, other: AnnouncedPart): number {
  for (const [index, number] of one.version.entries()) {
    if (number !== other.version[index]) return number - other.version[index]!;
  }
  return one.startedAt.getTime() - other.startedAt.getTime();
}
