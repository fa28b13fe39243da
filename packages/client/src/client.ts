import { type ApiCall, apiCall } from './call.ts';
import { operationTable } from './generated/operations.ts';
import type { EventsApi, FlatOperations, Resources } from './generated/types.ts';
import { checkOptions } from './known-options.ts';
import { listCall } from './pages.ts';
import { baseUrlRule, isBaseUrl } from './requests/base-url.ts';
import { type ClientOptions, type RequestParts, send } from './requests/send.ts';
import { type EventStream, type StreamOptions, streamEvents } from './stream/event-stream.ts';
import { type WaitFor, waitsOf } from './wait-for.ts';

/** The API's operations as methods, such as `client.calendar.appointments.create({ body: { … } })`, the event stream, and waits. */
export interface Client extends Resources, FlatOperations {
  readonly events: EventsApi & {
    /**
     * Iterates over events as they happen, each once and in `sequence` order. Starts now, or after `afterSequence`. A broken connection is
     * reopened after the last event received. Rejects with a RequestError if the API refuses the stream, or with an aborted signal's reason.
     */
    stream(options?: StreamOptions): EventStream;
  };
  readonly waitFor: WaitFor;
}

const clientOptions = ['baseUrl', 'apiKey', 'retries', 'timeoutMs', 'fetch', 'onResponse'];
const streamOptions = ['types', 'afterSequence', 'signal', 'idleTimeoutMs', 'onOpen', 'onReconnect'];
const callOptions = ['params', 'query', 'body', 'idempotencyKey', 'signal'];

/** Creates a client. Throws TypeError if `baseUrl` or `apiKey` is malformed, or an option is unknown. */
export function createClient(options: ClientOptions): Client {
  checkOptions('createClient', options, clientOptions);
  if (!isBaseUrl(options.baseUrl)) throw new TypeError(`baseUrl ${baseUrlRule(options.baseUrl)}`);
  if (!/^[\x21-\x7e]+$/.test(options.apiKey)) throw new TypeError('apiKey must be an API key, cp_live_… or cp_test_…');
  const client: Group = {};
  for (const [operation, line] of Object.entries(operationTable)) {
    const [name, method, template, kind] = line.split(' ') as [string, string, string, string | undefined];
    const call = callOf(options, { operation, name, method, template, kind });
    client[operation] = call;
    setAt(client, name.split('.'), call);
  }
  const stream = (given: StreamOptions = {}) => {
    checkOptions('events.stream', given, streamOptions);
    return streamEvents(options, given);
  };
  setAt(client, ['events', 'stream'], stream);
  client.waitFor = waitsOf(client as unknown as Resources);
  return frozen(client) as unknown as Client;
}

/** Methods and nested groups, by name. */
type Group = Record<string, unknown>;

type Input = Omit<RequestParts, 'isMultipart'> & { params?: Record<string, unknown> };

/** The fields of an operation's line in `operationTable`. */
interface OperationLine {
  operation: string;
  name: string;
  method: string;
  template: string;
  kind: string | undefined;
}

function callOf(options: ClientOptions, { operation, name, method, template, kind }: OperationLine) {
  const request = async (input: Input, page: Record<string, unknown> = {}) => {
    checkOptions(name, input, callOptions);
    const path = pathOf(name, template, input.params);
    const query = { ...input.query, ...page };
    return await send(options, { operation, method, path }, { ...input, query, isMultipart: kind === 'multipart' });
  };
  if (kind === 'pages') return (input: Input = {}) => listCall(input.query, (page) => request(input, page));
  return (input: Input = {}): ApiCall<unknown> => apiCall(request(input));
}

/** Returns an operation's path. Throws TypeError if a parameter is missing, or is a `.` or `..` that would change the path. */
function pathOf(name: string, template: string, params: Record<string, unknown> = {}): string {
  return template.replace(/\{(\w+)\}/g, (_match, parameter: string) => {
    const value = String(params[parameter] ?? '');
    if (value !== '' && value !== '.' && value !== '..') return encodeURIComponent(value);
    throw new TypeError(`${name}: params.${parameter} must be an id, not ${JSON.stringify(params[parameter])}`);
  });
}

/** Sets a method at its path, and creates the missing groups. */
function setAt(client: Group, path: string[], method: unknown): void {
  let group = client;
  for (const name of path.slice(0, -1)) {
    group[name] ??= {};
    group = group[name] as Group;
  }
  group[path.at(-1)!] = method;
}

function frozen(group: Group): Group {
  for (const member of Object.values(group)) if (typeof member === 'object') frozen(member as Group);
  return Object.freeze(group);
}
