import type { Command, CommandCall } from '../command.ts';
import { UsageError } from '../errors.ts';
import { dataOf, dataOption } from '../json-input.ts';
import { jsonLine, prettyJson } from '../text.ts';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

export const request: Command = {
  name: 'request',
  parameters: '<method> <path>',
  arity: [2, 2],
  summary: 'Send any request',
  description: 'Prints the response body. A write carries an Idempotency-Key, so retries do not repeat it.',
  options: [
    dataOption('The JSON body'),
    { name: 'query', short: 'q', value: 'name=value', isMultiple: true, description: 'A query parameter' },
    { name: 'idempotency-key', value: 'key', description: 'The Idempotency-Key of a write; default: a new UUID' },
  ],
  examples: [
    'request GET /v1/me',
    'request POST /v1/cdp/contacts -d \'{"name": "Ada"}\'',
    'request GET /v1/cdp/contacts -q limit=5 --json',
  ],
  async run(call) {
    const [given, path] = call.positionals as [string, string];
    const method = given.toUpperCase();
    if (!methods.includes(method))
      throw new UsageError(`The method must be ${methods.join(', ')}, not ${JSON.stringify(given)}`);
    if (!path.startsWith('/'))
      throw new UsageError(`The path must begin with /, such as /v1/me, not ${JSON.stringify(path)}`);
    const parts = { query: queryOf(call), body: await dataOf(call), idempotencyKey: call.value('idempotency-key') };
    const response = await call.send<unknown>({ method, path }, parts);
    if (response === undefined) return call.note('Done; the response has no body');
    call.print(call.isJson ? jsonLine(response) : prettyJson(response));
  },
};

function queryOf(call: CommandCall): Record<string, string> {
  const pairs = call.values('query').map((pair) => {
    const at = pair.indexOf('=');
    if (at < 1) throw new UsageError(`--query must be name=value, not ${JSON.stringify(pair)}`);
    return [pair.slice(0, at), pair.slice(at + 1)] as const;
  });
  const names = pairs.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new UsageError(`--query ${twice} must be given only once, since a parameter has one value`);
  return Object.fromEntries(pairs);
}
