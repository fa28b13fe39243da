import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { listen, type Running, runProcess } from '@customer-platform/service-kit';
import { z } from 'zod';
import { jsonOf } from './json-of.ts';
import { simulatedCompletion } from './simulated-ai.ts';

const maxBodyBytes = 1_048_576;

const CompletionRequest = z.object({
  messages: z.array(z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() })).min(1),
});

interface SimulatedResponse {
  status: number;
  body: object;
}

/**
 * Simulates the external services of a demo account. It is an OpenAI-compatible AI provider (POST /v1/chat/completions, any key) and a
 * message provider (POST /messages, accepts everything). Sends nothing.
 */
export async function startSimulatedServer(port: number, host: string): Promise<Running> {
  const listener = await listen(
    async (request: IncomingMessage, response: ServerResponse) => {
      const { status, body } = await handle(request).catch(() => refusal(400, 'The request was incomplete'));
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    },
    port,
    host,
  );
  return { url: listener.url, stop: () => listener.close(2_000) };
}

async function handle(request: IncomingMessage): Promise<SimulatedResponse> {
  const text = await textOf(request);
  if (text === undefined) return refusal(413, `The body must be at most ${maxBodyBytes} bytes`);
  const { pathname } = new URL(request.url ?? '/', 'http://simulated');
  switch (`${request.method} ${pathname}`) {
    case 'GET /healthz':
    case 'GET /readyz':
      return { status: 200, body: { status: 'ok' } };
    case 'POST /messages':
      return { status: 200, body: { id: randomUUID() } };
    case 'POST /v1/chat/completions':
      return complete(text);
    default:
      return refusal(404, `No route matches ${request.method} ${pathname}`);
  }
}

/** Reads the whole body. Returns undefined if it is too long. */
async function textOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= maxBodyBytes) chunks.push(chunk);
  }
  return size <= maxBodyBytes ? Buffer.concat(chunks).toString() : undefined;
}

function complete(text: string): SimulatedResponse {
  const parsed = CompletionRequest.safeParse(jsonOf(text));
  if (parsed.success) return { status: 200, body: simulatedCompletion(parsed.data) };
  return refusal(400, 'The body must be JSON with messages, a list of {role, content}');
}

/** Returns an error in the format of OpenAI's API. */
function refusal(status: number, message: string): SimulatedResponse {
  return { status, body: { error: { message, type: 'invalid_request_error', param: null, code: null } } };
}

if (import.meta.main) {
  await runProcess(() => startSimulatedServer(Number(process.env.PORT ?? 0), process.env.HOST ?? '127.0.0.1'));
}
