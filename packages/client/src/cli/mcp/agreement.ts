import type { Me } from '../../generated/types.ts';
import { prettyJson, printable, shortened } from '../text.ts';
import type { PreparedCall } from './calls.ts';
import type { McpServer } from './packages.ts';

/** Milliseconds that the user has to answer a question. */
const answerTimeoutMs = 600_000;
/** A question shows at most this many characters of a body. */
const shownCharacters = 4_000;

/**
 * Asks the user whether to send a write. Returns why the write is not sent; undefined if it is sent. If the assistant cannot ask, writes with
 * a test key are sent, since the assistant's own permission prompt applies.
 */
export async function refusalOfUser(
  { server }: McpServer,
  call: PreparedCall,
  me: Me,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!server.getClientCapabilities()?.elicitation?.form) {
    return me.mode === 'live'
      ? 'Not sent: the key is live and this assistant cannot ask its user. Start customer-platform mcp with a test key, or with --yes to send writes without asking.'
      : undefined;
  }
  // The user only accepts or declines. The form has no fields.
  const question = { message: questionOf(call, me), requestedSchema: { type: 'object' as const, properties: {} } };
  const { action } = await server.elicitInput(question, { signal, timeout: answerTimeoutMs });
  return action === 'accept' ? undefined : 'Not sent: the user did not agree.';
}

function questionOf({ operation, method, path, query, body }: PreparedCall, { account, mode }: Me): string {
  const pairs = Object.entries(query ?? {}).map(([name, value]) => `${name}=${String(value)}`);
  const address = pairs.length > 0 ? `${path}?${pairs.join('&')}` : path;
  const lines = [
    printable(`${operation.summary} in ${account.name} (${mode === 'live' ? 'live' : 'sandbox'})?`),
    printable(`${method} ${address}`),
    ...(body ? [shortened(prettyJson(body), shownCharacters)] : []),
  ];
  return lines.join('\n');
}
