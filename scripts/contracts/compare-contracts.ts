import { type Gap, gapsOf } from './compare-schemas.ts';
import type { JsonSchema, Schema } from './json-schema.ts';
import type { ContractRecord, EventRecord, OperationRecord, RequestRecord } from './record.ts';

/** Differences between a contract and the last release's contract, as sentences. */
export interface Differences {
  /** Changes that break a client, a receiver or a service of the last release. */
  breaks: string[];
  /** Changes that break nothing but need care. */
  notes: string[];
}

/** Returns the differences between a deployable's contract and its last release's, in the order of the contract. */
export function differencesOf(deployable: string, released: ContractRecord, current: ContractRecord): Differences {
  const found: Differences = { breaks: [], notes: [] };
  const { version } = released;
  const report: Report = (what, sentence, isNote = false) =>
    (isNote ? found.notes : found.breaks).push(`${deployable} ${what}: ${sentence}`);
  const compareAll = <Part>(
    before: Record<string, Part>,
    now: Record<string, Part>,
    compare: Compare<Part>,
    gone: string,
  ) => {
    for (const [name, part] of Object.entries(before)) {
      const successor = now[name];
      if (successor) compare(name, part, successor, { version, report });
      else report(name, `was removed; ${gone}, or release a new major version`);
    }
  };
  compareAll(released.operations, current.operations, compareOperation, `clients of ${version} call it: keep it`);
  compareAll(released.events, current.events, compareEvent, `consumers of ${version} expect it: keep publishing it`);
  compareAll(
    requestsOf(released),
    requestsOf(current),
    compareRequest,
    `services of ${version} send it: keep handling it`,
  );
  for (const name of Object.keys(requestsOf(current)))
    if (!requestsOf(released)[name])
      report(name, `is new; send it only from the next release on, or expect 503 from ${version}`, true);
  return found;
}

function requestsOf({ requests }: ContractRecord): Record<string, RequestRecord> {
  return Object.fromEntries(Object.entries(requests).map(([key, request]) => [`request ${key}`, request]));
}

type Report = (what: string, sentence: string, isNote?: boolean) => void;
type Compare<Part> = (what: string, before: Part, now: Part, context: Context) => void;
interface Context {
  /** Version of the last release. */
  version: string;
  report: Report;
}

function compareOperation(key: string, before: OperationRecord, now: OperationRecord, { version, report }: Context) {
  const clients = `clients of ${version}`;
  const [old, moved] = [before, now].map(({ method, path }) => `${method} ${path}`);
  const changes: [hasChanged: boolean, sentence: string][] = [
    [old !== moved, `has moved to ${moved}; ${clients} call ${old}: keep that, and declare a new operation`],
    [
      now.scope !== null && now.scope !== before.scope,
      `needs the scope ${now.scope} now; ${clients} have ${before.scope ?? 'any'}: keep that`,
    ],
    [
      now.gate !== null && now.gate !== before.gate,
      `needs the module ${now.gate} now; accounts of ${clients} have ${before.gate ?? 'any'}: keep that`,
    ],
    [now.status !== before.status, `responds with ${now.status} now; ${clients} expect ${before.status}: keep that`],
    [
      now.bodyLimit < before.bodyLimit,
      `accepts bodies of ${now.bodyLimit} bytes now; ${clients} send up to ${before.bodyLimit}: keep that limit`,
    ],
    [
      now.bodyType !== before.bodyType,
      `accepts bodies as ${now.bodyType} now; ${clients} send ${before.bodyType}: declare a new operation`,
    ],
  ];
  for (const [hasChanged, sentence] of changes) if (hasChanged) report(key, sentence);
  for (const part of ['params', 'query', 'body'] as const) {
    const gaps = gapsOf(before[part] ?? nothing, now[part] ?? nothing, 'operation');
    reportGaps(`${key} ${part}`, gaps, refusal, clients, report);
  }
  compareResponse(`${key} response`, before.response, now.response, { version, report });
}

/** Schema for missing parameters or a missing body, which count as an object without fields. */
const nothing: JsonSchema = { type: 'object', properties: {} };

/** Compares responses. A new enum value is only a note, because clients must accept it. */
function compareResponse(what: string, before: Schema | null, now: Schema | null, { version, report }: Context) {
  if (!before) return;
  const clients = `clients of ${version}`;
  if (!now) return report(what, `was removed; ${clients} read it: keep it`);
  reportNews(what, gapsOf(now, before, 'client'), clients, report);
}

/** Reports values that are newly sent. A new enum value is only a note. */
function reportNews(what: string, gaps: Gap[], others: string, report: Report) {
  const { true: values = [], false: breaks = [] } = Object.groupBy(gaps, ({ kind }) => `${kind === 'value'}`);
  reportGaps(what, breaks, novelty, others, report);
  for (const { place, sent, taken } of values)
    report(`${what}${place}`, `may be ${sent} now; ${others} know ${taken}: mention it in the changelog`, true);
}

/**
 * Compares events. Consumers of the last release must accept current events, and current consumers must accept events of the last release.
 * Webhook endpoints, which get public events, have no defaults.
 */
function compareEvent(kind: string, before: EventRecord, now: EventRecord, { version, report }: Context) {
  const consumers = `consumers of ${version}`;
  if (now.audience !== before.audience)
    report(kind, `is ${now.audience} now; ${consumers} expect it as ${before.audience}: publish a new kind`);
  const sender = `events of ${version}, which the stream keeps for 7 days,`;
  reportNews(`${kind} data`, gapsOf(now.data, before.taken ?? before.data, 'service'), consumers, report);
  reportGaps(`${kind} data`, gapsOf(before.data, now.taken ?? now.data, 'service'), refusal, sender, report);
  if (before.audience !== 'public') return;
  const known = new Set(gapsOf(now.data, before.data, 'service').map((gap) => JSON.stringify(gap)));
  const gaps = gapsOf(now.data, before.data, 'client').filter((gap) => !known.has(JSON.stringify(gap)));
  reportGaps(`${kind} data`, gaps, novelty, `endpoints of webhooks of ${version}`, report);
}

/** Compares requests. During a rolling update each side meets the other side of the last release. */
function compareRequest(what: string, before: RequestRecord, now: RequestRecord, { version, report }: Context) {
  const [askers, repliers] = [`askers of ${version}`, `repliers of ${version}`];
  compareMessage(`${what} input`, before.input, now.input, { taker: repliers, sender: askers, report });
  compareMessage(`${what} reply`, before.reply, now.reply, { taker: askers, sender: repliers, report });
}

/** Compares a message in both directions, because senders and receivers may have different releases. */
function compareMessage(
  what: string,
  before: Schema,
  now: Schema,
  { taker, sender, report }: { taker: string; sender: string; report: Report },
) {
  reportGaps(what, gapsOf(now, before, 'service'), novelty, taker, report);
  reportGaps(what, gapsOf(before, now, 'service'), refusal, sender, report);
}

type Sentence = (gap: Gap, others: string) => string;

/** Reports each gap with its place and a correction. `others` belong to the last release: `clients of 1.0.0`. */
function reportGaps(what: string, gaps: Gap[], sentenceOf: Sentence, others: string, report: Report) {
  for (const gap of gaps) report(`${what}${gap.place}`, sentenceOf(gap, others));
}

/** Sentence for a value that is no longer accepted. */
function refusal({ kind, sent, taken }: Gap, others: string): string {
  switch (kind) {
    case 'missing':
      return `is required now; ${others} ${sent === 'nothing' ? 'send none' : 'may omit it'}: make it optional, or give it a default`;
    case 'unknown':
      return `is no longer accepted; ${others} send ${sent === 'any keys' ? 'any key' : 'it'}: keep accepting it`;
    case 'value':
    case 'variant':
      return `no longer accepts ${sent}; ${others} send it: keep accepting it`;
    default:
      return `accepts ${taken} now; ${others} send ${sent}: keep accepting that too`;
  }
}

/** Sentence for a value that is newly sent. */
function novelty({ kind, sent, taken }: Gap, others: string): string {
  switch (kind) {
    case 'missing':
      return `${sent === 'nothing' ? 'was removed' : 'may be missing now'}; ${others} need it: keep sending it`;
    case 'unknown':
      return `is new; ${others} reject unknown keys: omit it`;
    case 'value':
    case 'variant':
      return `may be ${sent} now; ${others} know ${taken}: send it in a new field, or release a new major version`;
    default:
      return `may be ${sent} now; ${others} accept ${taken}: keep sending that, and send the new value in a new field`;
  }
}
