import { type Gap, gapsOf } from './compare-schemas.ts';
import type { JsonSchema, Schema } from './json-schema.ts';
import type { ContractRecord, EventRecord, OperationRecord, RequestRecord } from './record.ts';

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
      else report(name, `is gone; ${gone}, or release a new major version`);
    }
  };
  compareAll(released.operations, current.operations, compareOperation, `clients of ${version} call it: keep it`);
  compareAll(released.events, current.events, compareEvent, `consumers of ${version} wait for it: keep publishing it`);
  compareAll(
    requestsOf(released),
    requestsOf(current),
    compareRequest,
    `services of ${version} send it: keep handling it`,
  );
  for (const name of Object.keys(requestsOf(current)))
    if (!requestsOf(released)[name])
      report(name, `is new; ask for it only from the release after, or expect 503 of ${version}`, true);
  return found;
}

function requestsOf({ requests }: ContractRecord): Record<string, RequestRecord> {
  return Object.fromEntries(Object.entries(requests).map(([key, request]) => [`request ${key}`, request]));
}

type Report = (what: string, sentence: string, isNote?: boolean) => void;
type Compare<Part> = (what: string, before: Part, now: Part, context: Context) => void;
interface Context {
  /** Of the last release. */
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
      `is off without the module ${now.gate} now; accounts of ${clients} have ${before.gate ?? 'any'}: keep that`,
    ],
    [now.status !== before.status, `responds with ${now.status} now; ${clients} wait for ${before.status}: keep that`],
    [
      now.bodyLimit < before.bodyLimit,
      `takes bodies of ${now.bodyLimit} bytes now; ${clients} send up to ${before.bodyLimit}: keep that limit`,
    ],
    [
      now.bodyType !== before.bodyType,
      `takes bodies as ${now.bodyType} now; ${clients} send ${before.bodyType}: declare a new operation`,
    ],
  ];
  for (const [hasChanged, sentence] of changes) if (hasChanged) report(key, sentence);
  for (const part of ['params', 'query', 'body'] as const) {
    const gaps = gapsOf(before[part] ?? nothing, now[part] ?? nothing, 'operation');
    reportGaps(`${key} ${part}`, gaps, refusal, clients, report);
  }
  compareResponse(`${key} response`, before.response, now.response, { version, report });
}

/** The schema of an operation without parameters or a body: an empty body counts as one without fields. */
const nothing: JsonSchema = { type: 'object', properties: {} };

/** A new value of an enum is a note: clients are expected to take it. */
function compareResponse(what: string, before: Schema | null, now: Schema | null, { version, report }: Context) {
  if (!before) return;
  const clients = `clients of ${version}`;
  if (!now) return report(what, `is gone; ${clients} read it: keep it`);
  reportNews(what, gapsOf(now, before, 'client'), clients, report);
}

/** Reports what is sent now and was not before, a new value of an enum as a note. */
function reportNews(what: string, gaps: Gap[], others: string, report: Report) {
  const { true: values = [], false: breaks = [] } = Object.groupBy(gaps, ({ kind }) => `${kind === 'value'}`);
  reportGaps(what, breaks, novelty, others, report);
  for (const { place, sent, taken } of values)
    report(`${what}${place}`, `may be ${sent} now; ${others} know ${taken}: say so in the changelog`, true);
}

/**
 * Consumers of the last release get what is published now, and consumers of now what that one published: both read what they need of it, and no
 * value is refused. Endpoints of webhooks, which get public events, know no defaults.
 */
function compareEvent(kind: string, before: EventRecord, now: EventRecord, { version, report }: Context) {
  const consumers = `consumers of ${version}`;
  if (now.audience !== before.audience)
    report(kind, `is ${now.audience} now; ${consumers} wait for it as ${before.audience}: publish a kind of its own`);
  const sender = `events of ${version}, of which the stream has 7 days,`;
  reportNews(`${kind} data`, gapsOf(now.data, before.taken ?? before.data, 'service'), consumers, report);
  reportGaps(`${kind} data`, gapsOf(before.data, now.taken ?? now.data, 'service'), refusal, sender, report);
  if (before.audience !== 'public') return;
  const known = new Set(gapsOf(now.data, before.data, 'service').map((gap) => JSON.stringify(gap)));
  const gaps = gapsOf(now.data, before.data, 'client').filter((gap) => !known.has(JSON.stringify(gap)));
  reportGaps(`${kind} data`, gaps, novelty, `endpoints of webhooks of ${version}`, report);
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
  reportGaps(what, gapsOf(now, before, 'service'), novelty, taker, report);
  reportGaps(what, gapsOf(before, now, 'service'), refusal, sender, report);
}

type Sentence = (gap: Gap, others: string) => string;

/** Reports what broke and what would be right, by its place. `others` are of the release before: `clients of 1.0.0`. */
function reportGaps(what: string, gaps: Gap[], sentenceOf: Sentence, others: string, report: Report) {
  for (const gap of gaps) report(`${what}${gap.place}`, sentenceOf(gap, others));
}

/** For a value that was taken before and is not any more. */
function refusal({ kind, sent, taken }: Gap, others: string): string {
  switch (kind) {
    case 'missing':
      return `is required now; ${others} ${sent === 'nothing' ? 'send none' : 'may leave it out'}: make it optional, or take what is missing for a default`;
    case 'unknown':
      return `is not taken any more; ${others} send ${sent === 'any keys' ? 'any key' : 'it'}: keep taking it`;
    case 'value':
    case 'variant':
      return `does not take ${sent} any more; ${others} send it: keep taking it`;
    default:
      return `takes ${taken} now; ${others} send ${sent}: keep taking that too`;
  }
}

/** For a value that is sent now and was not before. */
function novelty({ kind, sent, taken }: Gap, others: string): string {
  switch (kind) {
    case 'missing':
      return `${sent === 'nothing' ? 'is gone' : 'may be missing now'}; ${others} need it: keep sending it`;
    case 'unknown':
      return `is new; ${others} refuse keys that they do not know: leave it out`;
    case 'value':
    case 'variant':
      return `may be ${sent} now; ${others} know ${taken}: send it in a new field, or release a new major version`;
    default:
      return `may be ${sent} now; ${others} take ${taken}: keep sending that, and the new in a field of its own`;
  }
}
