import { gapsOf } from './compare-schemas.ts';
import type { Gap } from './gap.ts';
import type { JsonSchema, Schema } from './json-schema.ts';
import type { ContractRecord, EventRecord, OperationRecord, RequestRecord } from './record.ts';
import { type Parties, sentenceOf } from './sentences.ts';

/** Differences of a contract from that of the last release, as sentences. */
export interface Differences {
  /** Changes that break a client, a receiver or a service of the last release. */
  breaks: string[];
  /** Changes that break nothing and need care. */
  notes: string[];
}

/** Returns the differences of a deployable's contract from that of its last release, in the order of the contract. */
export function differencesOf(deployable: string, released: ContractRecord, current: ContractRecord): Differences {
  const found: Differences = { breaks: [], notes: [] };
  const { version } = released;
  const report: Report = (what, gap, isNote = false) =>
    (isNote ? found.notes : found.breaks).push(`${deployable} ${what}: ${gap}`);
  for (const [key, before] of Object.entries(released.operations)) {
    const now = current.operations[key];
    if (now) compareOperation(key, before, now, { version, report });
    else report(key, `is gone; clients of ${version} call it: keep it, or release a new major version`);
  }
  for (const [kind, before] of Object.entries(released.events)) {
    const now = current.events[kind];
    if (now) compareEvent(kind, before, now, { version, report });
    else
      report(kind, `is gone; consumers of ${version} wait for it: keep publishing it, or release a new major version`);
  }
  for (const [key, before] of Object.entries(released.requests)) {
    const now = current.requests[key];
    if (now) compareRequest(`request ${key}`, before, now, { version, report });
    else
      report(
        `request ${key}`,
        `is gone; services of ${version} send it: keep handling it, or release a new major version`,
      );
  }
  for (const key of Object.keys(current.requests))
    if (!released.requests[key])
      report(`request ${key}`, `is new; ask for it only from the release after, or expect 503 of ${version}`, true);
  return found;
}

type Report = (what: string, sentence: string, isNote?: boolean) => void;
interface Context {
  /** Of the last release. */
  version: string;
  report: Report;
}

function compareOperation(key: string, before: OperationRecord, now: OperationRecord, { version, report }: Context) {
  const clients = `clients of ${version}`;
  const [old, moved] = [before, now].map(({ method, path }) => `${method} ${path}`);
  if (old !== moved)
    report(key, `has moved to ${moved}; ${clients} call ${old}: keep that, and declare a new operation`);
  if (now.scope !== null && now.scope !== before.scope)
    report(key, `needs the scope ${now.scope} now; ${clients} have ${before.scope ?? 'any'}: keep that`);
  if (now.gate !== null && now.gate !== before.gate)
    report(
      key,
      `is off without the module ${now.gate} now; accounts of ${clients} have ${before.gate ?? 'any'}: keep that`,
    );
  if (now.status !== before.status)
    report(key, `responds with ${now.status} now; ${clients} wait for ${before.status}: keep that`);
  if (now.bodyLimit < before.bodyLimit)
    report(
      key,
      `takes bodies of ${now.bodyLimit} bytes now; ${clients} send up to ${before.bodyLimit}: keep that limit`,
    );
  if (now.bodyType !== before.bodyType)
    report(key, `takes bodies as ${now.bodyType} now; ${clients} send ${before.bodyType}: declare a new operation`);
  for (const part of ['params', 'query', 'body'] as const) {
    const gaps = gapsOf(before[part] ?? nothing, now[part] ?? nothing, 'operation');
    reportGaps(`${key} ${part}`, gaps, { changed: 'taker', others: clients }, report);
  }
  compareResponse(key, before.response, now.response, { version, report });
}

/** The schema of an operation without parameters or a body: an empty body counts as one without fields. */
const nothing: JsonSchema = { type: 'object', properties: {} };

/** A new value of an enum is a note: clients are expected to take it. */
function compareResponse(key: string, before: Schema | null, now: Schema | null, { version, report }: Context) {
  if (!before) return;
  const others = `clients of ${version}`;
  if (!now) return report(`${key} response`, `is gone; ${others} read it: keep it`);
  const [values, gaps] = partition(gapsOf(now, before, 'client'), ({ kind }) => kind === 'value');
  reportGaps(`${key} response`, gaps, { changed: 'sender', others }, report);
  for (const { place, sent, taken } of values)
    report(`${key} response${place}`, `may be ${sent} now; ${others} know ${taken}: say so in the changelog`, true);
}

function partition<Value>(values: Value[], isFirst: (value: Value) => boolean): [Value[], Value[]] {
  return [values.filter(isFirst), values.filter((value) => !isFirst(value))];
}

/**
 * Consumers of the last release get what is published now, and consumers of now what that one published. Endpoints of webhooks, which get public
 * events, know no defaults.
 */
function compareEvent(kind: string, before: EventRecord, now: EventRecord, { version, report }: Context) {
  const consumers = `consumers of ${version}`;
  if (now.audience !== before.audience)
    report(kind, `is ${now.audience} now; ${consumers} wait for it as ${before.audience}: publish a kind of its own`);
  const sender = `events of ${version}, of which the stream has 7 days,`;
  compareMessage(`${kind} data`, before.data, now.data, { taker: consumers, sender, report });
  if (before.audience !== 'public') return;
  const known = new Set(gapsOf(now.data, before.data, 'service').map((gap) => JSON.stringify(gap)));
  const gaps = gapsOf(now.data, before.data, 'client').filter((gap) => !known.has(JSON.stringify(gap)));
  reportGaps(`${kind} data`, gaps, { changed: 'sender', others: `endpoints of webhooks of ${version}` }, report);
}

/** During a roll each side meets the other of the last release. */
function compareRequest(what: string, before: RequestRecord, now: RequestRecord, { version, report }: Context) {
  const [askers, repliers] = [`askers of ${version}`, `repliers of ${version}`];
  compareMessage(`${what} input`, before.input, now.input, { taker: repliers, sender: askers, report });
  compareMessage(`${what} reply`, before.reply, now.reply, { taker: askers, sender: repliers, report });
}

/** Compares what goes over the bus in both directions: its senders and its takers are of two releases. */
function compareMessage(
  what: string,
  before: Schema,
  now: Schema,
  { taker, sender, report }: { taker: string; sender: string; report: Report },
) {
  reportGaps(what, gapsOf(now, before, 'service'), { changed: 'sender', others: taker }, report);
  reportGaps(what, gapsOf(before, now, 'service'), { changed: 'taker', others: sender }, report);
}

function reportGaps(what: string, gaps: Gap[], parties: Parties, report: Report) {
  for (const gap of gaps) report(`${what}${gap.place}`, sentenceOf(gap, parties));
}
