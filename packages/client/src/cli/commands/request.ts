import { readFile } from 'node:fs/promises';
import type { Command, CommandCall } from '../command.ts';
import { SetupError, UsageError } from '../errors.ts';
import { jsonLine, prettyJson } from '../text.ts';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** Largest body in bytes that is read: the API takes no larger JSON. */
const maxBodyBytes = 1024 * 1024;

export const request: Command = {
  name: 'request',
  parameters: '<method> <path>',
  arity: [2, 2],
  summary: 'Send any request',
  description:
    'Prints the body of the response. A write is sent with an Idempotency-Key, so that its retries change nothing more.',
  options: [
    {
      name: 'data',
      short: 'd',
      value: 'json',
      description: 'The body; @file reads it from a file, - from the standard input',
    },
    { name: 'query', short: 'q', value: 'name=value', isMultiple: true, description: 'A query parameter' },
    { name: 'idempotency-key', value: 'key', description: 'Default: a new one' },
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
    const parts = { query: queryOf(call), body: await bodyOf(call), idempotencyKey: call.value('idempotency-key') };
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
  if (twice !== undefined) throw new UsageError(`--query ${twice} is given twice: a parameter has one value`);
  return Object.fromEntries(pairs);
}

async function bodyOf(call: CommandCall): Promise<unknown> {
  const data = call.value('data');
  if (data === undefined) return undefined;
  const text = data === '-' ? await readInput(call) : data.startsWith('@') ? await readBody(data.slice(1)) : data;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new UsageError(`--data must be JSON: ${(error as Error).message}`);
  }
}

async function readBody(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new SetupError(`${file} cannot be read: ${(error as Error).message}`);
  }
}

async function readInput({ input }: CommandCall): Promise<string> {
  let text = '';
  for await (const chunk of input.setEncoding('utf8')) {
    text += chunk as string;
    if (text.length > maxBodyBytes) throw new UsageError(`The body must be at most ${maxBodyBytes} bytes`);
  }
  return text;
}
