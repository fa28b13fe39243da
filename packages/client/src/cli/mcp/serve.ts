import { once } from 'node:events';
import { isPlatformError } from '../../errors.ts';
import { type ClientOptions, send } from '../../requests/send.ts';
import type { CommandCall } from '../command.ts';
import { SetupError } from '../errors.ts';
import { StdioServerTransport } from './packages.ts';
import { createServer, type ServerOptions } from './server.ts';

/** Milliseconds that the check of the key may take. The assistant waits for it at the start. */
const checkTimeoutMs = 5_000;

/** Serves MCP on the standard input and output until the input ends or the signal aborts. Throws SetupError for an invalid key. */
export async function serve(
  client: ClientOptions,
  options: Pick<ServerOptions, 'isReadOnly' | 'isConfirmed'>,
  { input, note, signal }: Pick<CommandCall, 'input' | 'note' | 'signal'>,
): Promise<void> {
  const isLive = !client.apiKey.startsWith('cp_test_');
  await checkKey(client, signal);
  const server = createServer(client, { ...options, isLive, signal });
  const ended = once(input, 'end', { signal });
  await server.connect(new StdioServerTransport(input));
  note(
    `Serving ${client.baseUrl} with a ${isLive ? 'live' : 'test'} key. ${ruleOf({ ...options, isLive })}. Your assistant starts this command itself.`,
  );
  try {
    await ended;
  } finally {
    await server.close();
  }
}

/** Checks the key once. If the platform does not respond, the server starts anyway, and its tools report the failure. */
async function checkKey(client: ClientOptions, signal: AbortSignal): Promise<void> {
  const once = { ...client, retries: 0, timeoutMs: checkTimeoutMs };
  try {
    await send(once, { method: 'GET', path: '/v1/me' }, { signal });
  } catch (error) {
    signal.throwIfAborted();
    if (!isPlatformError(error) || error.status !== 401) return;
    throw new SetupError(
      `${client.baseUrl} does not accept the key: ${error.message} (${error.code}). Set CUSTOMER_PLATFORM_KEY, or run customer-platform login`,
    );
  }
}

function ruleOf({ isReadOnly, isConfirmed, isLive }: Omit<ServerOptions, 'signal'>): string {
  if (isReadOnly) return 'It offers no writes';
  if (isConfirmed) return 'It sends writes without asking';
  return `It asks before each write, and ${isLive ? 'refuses' : 'sends'} the write if your assistant cannot ask`;
}
