import { once } from 'node:events';
import type { ClientOptions } from '../../requests/send.ts';
import type { CommandCall } from '../command.ts';
import { StdioServerTransport } from './packages.ts';
import { createServer, type ServerOptions } from './server.ts';

/** Serves the protocol on the standard input and output until the input ends or the signal aborts. */
export async function serve(
  client: ClientOptions,
  options: Pick<ServerOptions, 'isReadOnly' | 'isConfirmed'>,
  { input, note, signal }: Pick<CommandCall, 'input' | 'note' | 'signal'>,
): Promise<void> {
  const isLive = !client.apiKey.startsWith('cp_test_');
  const server = createServer(client, { ...options, isLive, signal });
  const ended = once(input, 'end', { signal });
  await server.connect(new StdioServerTransport(input));
  note(
    `Serving ${client.baseUrl} with a ${isLive ? 'live' : 'sandbox'} key; ${ruleOf(options)}. Your assistant starts this command itself.`,
  );
  try {
    await ended;
  } finally {
    await server.close();
  }
}

function ruleOf({ isReadOnly, isConfirmed }: Pick<ServerOptions, 'isReadOnly' | 'isConfirmed'>): string {
  if (isReadOnly) return 'it offers no writes';
  return isConfirmed ? 'writes are sent without asking' : 'it asks before each write';
}
