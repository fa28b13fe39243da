import { operationTable } from './generated/operations.ts';
import type { Operations } from './generated/types.ts';
import { baseUrlRule, isBaseUrl } from './requests/base-url.ts';
import { type ClientOptions, type RequestParts, send } from './requests/send.ts';
import { type EventStream, type StreamOptions, streamEvents } from './stream/event-stream.ts';

/** One method per operation of the API: `client.bookAppointment({ body: { … } })`; and the stream of events. */
export interface Client extends Operations {
  readonly events: {
    /**
     * Iterates over events as they happen, each once and in the order of their `sequence`, from now on or after `afterSequence`. Broken
     * connections are resumed where they ended. Rejects with a RequestError if the API refuses it, or the reason of an aborted signal.
     */
    stream(options?: StreamOptions): EventStream;
  };
}

/** Creates a client. Throws TypeError if `baseUrl` or `apiKey` cannot be used. */
export function createClient(options: ClientOptions): Client {
  if (!isBaseUrl(options.baseUrl)) throw new TypeError(`baseUrl ${baseUrlRule(options.baseUrl)}`);
  if (!/^[\x21-\x7e]+$/.test(options.apiKey)) throw new TypeError('apiKey must be an API key, cp_live_… or cp_test_…');
  const methods = Object.entries(operationTable).map(([operation, line]) => {
    const [method, template, encoding] = line.split(' ') as [string, string, string | undefined];
    const isMultipart = encoding === 'multipart';
    const call = async (input: Input = {}) => {
      const path = pathOf(operation, template, input.params);
      return await send(options, { operation, method, path }, { ...input, isMultipart });
    };
    return [operation, call] as const;
  });
  const events: Client['events'] = { stream: (given = {}) => streamEvents(options, given) };
  return Object.freeze({ ...(Object.fromEntries(methods) as unknown as Operations), events });
}

type Input = Omit<RequestParts, 'isMultipart'> & { params?: Record<string, unknown> };

/** Returns an operation's path. Throws TypeError for a parameter that is missing, or that would make it the path of another operation. */
function pathOf(operation: string, template: string, params: Record<string, unknown> = {}): string {
  return template.replace(/\{(\w+)\}/g, (_match, name: string) => {
    const value = String(params[name] ?? '');
    if (value !== '' && value !== '.' && value !== '..') return encodeURIComponent(value);
    throw new TypeError(`${operation}: params.${name} must be an id, not ${JSON.stringify(params[name])}`);
  });
}
