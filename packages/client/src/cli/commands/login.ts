import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { createClient } from '../../client.ts';
import type { Command, CommandCall } from '../command.ts';
import { SetupError, UsageError } from '../errors.ts';
import { credentialsFile } from '../settings.ts';
import { jsonLine, printable } from '../text.ts';

/** Longest accepted key in characters. */
const maxKeyLength = 1_000;

export const login: Command = {
  name: 'login',
  parameters: '',
  arity: [0, 0],
  summary: 'Store an API key',
  description:
    'Asks for the key, or reads it from the standard input. If the API accepts the key, stores it in a file that only you can read. CUSTOMER_PLATFORM_KEY and CUSTOMER_PLATFORM_URL override it.',
  options: [{ name: 'url', value: 'address', description: "The API's address; default: CUSTOMER_PLATFORM_URL" }],
  examples: ['login --url https://api.example.com', 'login --url https://api.example.com < key.txt'],
  async run(call) {
    const url = call.value('url') ?? call.env.CUSTOMER_PLATFORM_URL;
    if (!url) throw new UsageError("--url must be the API's address, such as https://api.example.com");
    const key = await readKey(call);
    const me = await clientOf(url, key).me.get({ signal: call.signal });
    await call.settings.write(credentialsFile, { url, key });
    if (call.isJson) return call.print(jsonLine(me));
    call.print(
      `Logged in to ${printable(me.account.name)} (${me.mode}); the key is stored in ${call.settings.pathOf(credentialsFile)}`,
    );
  },
};

export const logout: Command = {
  name: 'logout',
  parameters: '',
  arity: [0, 0],
  summary: 'Delete the stored API key',
  description: 'The key stays valid until you revoke it.',
  options: [],
  examples: ['logout'],
  async run(call) {
    await call.settings.remove(credentialsFile);
    call.note('The stored key was deleted');
  },
};

function clientOf(url: string, key: string) {
  try {
    return createClient({ baseUrl: url, apiKey: key });
  } catch (error) {
    throw new UsageError((error as Error).message.replace(/^baseUrl/, '--url').replace(/^apiKey/, 'The key'));
  }
}

/** Returns the key that the user types, without echo. If the standard input is not a terminal, returns all of it. */
async function readKey({ input, note }: CommandCall): Promise<string> {
  if (!input.isTTY) return await readPipe(input);
  note('API key (hidden while you type):');
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: silent, terminal: true });
  const ended = new AbortController();
  // Ctrl-C and Ctrl-D. A readline interface without echo must handle them itself.
  lines.once('SIGINT', () => ended.abort()).once('close', () => ended.abort());
  try {
    return (await lines.question('', { signal: ended.signal })).trim();
  } catch {
    throw new SetupError('No key was given');
  } finally {
    lines.close();
  }
}

async function readPipe(input: NodeJS.ReadStream): Promise<string> {
  let text = '';
  for await (const chunk of input.setEncoding('utf8')) {
    text += chunk as string;
    if (text.length > maxKeyLength) throw new UsageError(`The key must be at most ${maxKeyLength} characters`);
  }
  return text.trim();
}
