import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { listen, type Running, runProcess } from '@customer-platform/service-kit';
import { z } from 'zod';
import { simulatedCompletion } from './simulated-ai.ts';

const maxBodyBytes = 1_048_576;

const CompletionRequest = z.object({
  messages: z.array(z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() })).min(1),
});

interface Answered {
  status: number;
  body: object;
}

/**
 * Stands in for what a demo account has outside: an OpenAI-compatible AI provider (POST /v1/chat/completions, any key), and somebody
 * who sends messages (POST /messages: takes every one). It sends nothing anywhere.
 */
export async function startSimulatedServer(port: number, host: string): Promise<Running> {
  const listener = await listen(
    async (request: IncomingMessage, response: ServerResponse) => {
      const { status, body } = await answer(request).catch(() => refusal(400, 'The request broke off'));
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    },
    port,
    host,
  );
  return { url: listener.url, stop: () => listener.close(2_000) };
}

async function answer(request: IncomingMessage): Promise<Answered> {
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
      return refusal(404, `There is no ${request.method} ${pathname} here`);
  }
}

/** The body, read to its end; undefined where it is longer than it may be. */
async function textOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= maxBodyBytes) chunks.push(chunk);
  }
  return size <= maxBodyBytes ? Buffer.concat(chunks).toString() : undefined;
}

function complete(text: string): Answered {
  const asked = CompletionRequest.safeParse(jsonOf(text));
  if (asked.success) return { status: 200, body: simulatedCompletion(asked.data) };
  return refusal(400, 'The body must be JSON with messages, a list of {role, content}');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An error in the form of OpenAI's API. */
function refusal(status: number, message: string): Answered {
  return { status, body: { error: { message, type: 'invalid_request_error', param: null, code: null } } };
}

if (import.meta.main) {
  await runProcess(() => startSimulatedServer(Number(process.env.PORT ?? 0), process.env.HOST ?? '127.0.0.1'));
}
