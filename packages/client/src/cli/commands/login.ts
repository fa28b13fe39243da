import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { createClient } from '../../client.ts';
import type { Command, CommandCall } from '../command.ts';
import { SetupError, UsageError } from '../errors.ts';
import { credentialsFile } from '../settings.ts';
import { jsonLine, printable } from '../text.ts';

/** Longest key that is read in characters. */
const maxKeyLength = 1_000;

export const login: Command = {
  name: 'login',
  parameters: '',
  arity: [0, 0],
  summary: 'Store an API key',
  description:
    'Asks for the key, or reads it from the standard input, and stores it if the API takes it, in a file that only you can read. CUSTOMER_PLATFORM_KEY and CUSTOMER_PLATFORM_URL go before it.',
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
  summary: 'Forget the stored API key',
  description: 'The key itself stays valid: revoke it where it was made.',
  options: [],
  examples: ['logout'],
  async run(call) {
    await call.settings.remove(credentialsFile);
    call.note('The stored key is forgotten');
  },
};

function clientOf(url: string, key: string) {
  try {
    return createClient({ baseUrl: url, apiKey: key });
  } catch (error) {
    throw new UsageError((error as Error).message.replace(/^baseUrl/, '--url').replace(/^apiKey/, 'The key'));
  }
}

/** Returns the key that the user types, which the terminal does not show, or the whole standard input if that is none. */
async function readKey({ input, note }: CommandCall): Promise<string> {
  if (!input.isTTY) return await readPipe(input);
  note('API key (it is not shown):');
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: silent, terminal: true });
  const ended = new AbortController();
  // Ctrl-C and Ctrl-D, which a terminal that shows nothing leaves to its reader.
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
