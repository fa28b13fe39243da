import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { firstCodePoints } from '@customer-platform/contracts/core';
import type { Poster, PostResult } from '@customer-platform/outbound';
import { generateText } from 'ai';
import { z } from 'zod';
import { type ChatMessage, promptTokensAtMost, tokensAtMost } from './prompt.ts';
import { RecentSet } from './recent-set.ts';
import { simulatedCompletion } from './simulated-ai.ts';

/** Where an account's AI is asked. */
export interface AiProvider {
  /** As the ledger names it. */
  name: string;
  model: string;
  /** Undefined: it is simulated, within this process. */
  endpoint?: { baseUrl: string; apiKey: string | null; poolKey: string; poster: Poster; timeoutMs: number };
}

/** What an AI is asked. */
export interface Question {
  messages: readonly ChatMessage[];
  /** What bounds its answer, in tokens. */
  maxTokens: number;
}

/**
 * What came of one call. `outcome` and tokens are for the ledger. `text` is what was answered, "" where that was no completion;
 * `error` says why there is none, without any part of the key. One that is temporary can be tried again: nothing was billed. One
 * that has timed out took all the time that a call can take.
 */
export type AiAnswer = {
  outcome: 'answered' | 'refused' | 'unknown';
  promptTokens: number;
  completionTokens: number;
} & (
  | { text: string; isCutOff: boolean }
  | { error: string; isTemporary: boolean; retryAfterMs: number; hasTimedOut?: boolean }
);

type AiFailure = Extract<AiAnswer, { error: string }>;

const maxErrorLength = 300;
/** So much of what a provider says is looked through for the key, and shown from. */
const maxReadLength = 2_000;

/** How a request names its `maxTokens`. */
type BoundName = 'max_tokens' | 'max_completion_tokens';

/** Which models at which base_url refused `max_tokens`. */
const newerModels = new RecentSet(1_000);

/**
 * Asks for one completion, once: what may have been billed is never sent again here. A model that refuses `max_tokens`, as OpenAI's
 * newer ones do, is asked with `max_completion_tokens` at once, and from then on.
 */
export async function askAi(provider: AiProvider, question: Question): Promise<AiAnswer> {
  const { endpoint, model } = provider;
  if (!endpoint) {
    const { choices, usage } = simulatedCompletion(question);
    const counted = { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens };
    return { outcome: 'answered', ...counted, text: choices[0]!.message.content, isCutOff: false };
  }
  const pair = JSON.stringify([endpoint.baseUrl, model]);
  if (!newerModels.has(pair)) {
    const posted = await post(model, endpoint, question, 'max_tokens');
    if (!asksForOther(posted.result)) return answerOf(posted);
  }
  const posted = await post(model, endpoint, question, 'max_completion_tokens');
  if (posted.result?.status === 400) newerModels.delete(pair);
  else newerModels.add(pair);
  return answerOf(posted);
}

/** Whether a request was refused, unbilled, with the word that it is to name its bound otherwise. */
function asksForOther(result: PostResult | undefined): boolean {
  return result?.status === 400 && !result.error && result.body.includes('max_completion_tokens');
}

type Endpoint = NonNullable<AiProvider['endpoint']>;

/** One request, and what came back: without `result` nothing could be sent, without `said` it was no completion. */
interface Posted {
  endpoint: Endpoint;
  question: Question;
  result: PostResult | undefined;
  said: { text: string; isCutOff: boolean } | undefined;
}

async function post(model: string, endpoint: Endpoint, question: Question, bound: BoundName): Promise<Posted> {
  let result: PostResult | undefined;
  const send: typeof fetch = async (url, init) => {
    const headers = Object.fromEntries(new Headers(init?.headers));
    result = await endpoint.poster.post({
      poolKey: endpoint.poolKey,
      url: String(url),
      headers,
      body: String(init?.body),
    });
    if (!isAnswer(result)) throw new Error('no completion came');
    return new Response(result.body, { status: 200, headers: { 'content-type': 'application/json' } });
  };
  const said = await complete(model, endpoint, question, bound, send).catch(() => undefined);
  return { endpoint, question, result, said };
}

function answerOf({ endpoint, question, result, said }: Posted): AiAnswer {
  if (!result) return refused(`The AI provider's base_url cannot be used; change it with PATCH /v1/agents/settings`);
  if (!isAnswer(result)) return { ...failed(result, endpoint), hasTimedOut: result.error === 'timeout' };
  return answered(result.body, said, question);
}

function isAnswer({ status, error }: PostResult): boolean {
  return error === undefined && status !== undefined && status >= 200 && status < 300;
}

/** Has the AI SDK write the request and read the answer. Throws where that is no completion. */
async function complete(
  model: string,
  { baseUrl, apiKey }: Endpoint,
  { messages, maxTokens }: Question,
  bound: BoundName,
  send: typeof fetch,
) {
  const provider = createOpenAICompatible({
    name: 'account',
    baseURL: baseUrl,
    ...(apiKey === null ? {} : { apiKey }),
    fetch: send,
    transformRequestBody: ({ max_tokens, ...body }) => {
      return { ...body, [bound]: max_tokens, response_format: { type: 'json_object' } };
    },
  });
  const [{ content: instructions }, ...asked] = messages as [ChatMessage, ...ChatMessage[]];
  const { text, finishReason } = await generateText({
    model: provider(model),
    instructions,
    messages: asked.map(({ role, content }) => ({ role: role as 'user' | 'assistant', content })),
    maxOutputTokens: maxTokens,
    maxRetries: 0,
    telemetry: { isEnabled: false },
  });
  return { text, isCutOff: finishReason === 'length' };
}

const count = z.int().min(0).max(1_000_000_000);
const Billed = z.object({
  usage: z.object({ prompt_tokens: count, completion_tokens: count, total_tokens: count.nullish() }),
});

/** What a 2xx comes to. One without `usage` counts as what its texts have at most; one that is no completion as all it could use. */
function answered(body: string, said: Posted['said'], { messages, maxTokens }: Question): AiAnswer {
  const { text, isCutOff } = said ?? { text: '', isCutOff: false };
  const billed = Billed.safeParse(jsonOf(body)).data?.usage;
  if (billed) {
    const { prompt_tokens: promptTokens, completion_tokens, total_tokens } = billed;
    // Some count what a model thinks in the total only.
    const completionTokens = Math.max(completion_tokens, (total_tokens ?? 0) - promptTokens);
    return { outcome: 'answered', promptTokens, completionTokens, text, isCutOff };
  }
  if (!said) return { outcome: 'unknown', promptTokens: 0, completionTokens: 0, text, isCutOff };
  const completionTokens = Math.min(tokensAtMost(text), maxTokens);
  return { outcome: 'answered', promptTokens: promptTokensAtMost(messages), completionTokens, text, isCutOff };
}

const notBilled = { outcome: 'refused', promptTokens: 0, completionTokens: 0 } as const;
const mayBeBilled = { outcome: 'unknown', promptTokens: 0, completionTokens: 0 } as const;

function refused(error: string, { isTemporary = false, retryAfterMs = 0 } = {}): AiFailure {
  return { ...notBilled, error, isTemporary, retryAfterMs };
}

/** What went wrong without a 2xx that was read to its end. */
function failed(result: PostResult, { apiKey, timeoutMs }: Endpoint): AiFailure {
  const { status, error, body, retryAfterMs = 0 } = result;
  if (status !== undefined && status >= 300) {
    if (status < 400) return refused(`The AI provider responded with a redirect (${status}), which is not followed`);
    if (status === 401 || status === 403) return refused(`The AI provider refused the API key (${status})`);
    const said = withoutKey(messageIn(body), apiKey);
    const suffix = said === '' ? '' : `: ${said}`;
    const isTemporary = status === 408 || status === 429 || status >= 500;
    if (isTemporary) return refused(`The AI provider responded with ${status}${suffix}`, { isTemporary, retryAfterMs });
    return refused(`The AI provider refused the call (${status})${suffix}`);
  }
  const unsent = error && unsentReasons[error as keyof typeof unsentReasons];
  if (unsent) return refused(`The AI provider cannot be reached: ${unsent}`, { isTemporary: true });
  const reasons = {
    timeout: `The AI provider did not respond within ${timeoutMs / 1_000} s`,
    too_large: "The AI provider's response is longer than 64 KiB",
  };
  const reason = reasons[error as keyof typeof reasons] ?? 'The AI provider closed the connection before responding';
  return { ...mayBeBilled, error: reason, isTemporary: false, retryAfterMs: 0 };
}

/** Why nothing was sent. */
const unsentReasons = {
  refused: 'it refuses connections',
  dns: 'its host name cannot be resolved',
  tls: 'its TLS certificate is not trusted',
  blocked: 'its address is not public',
};

const ErrorBody = z.object({ error: z.union([z.string(), z.object({ message: z.string() })]) });

/** What a provider says went wrong; "" where that is no text for people. */
function messageIn(body: string): string {
  const error = ErrorBody.safeParse(jsonOf(body)).data?.error;
  const said = typeof error === 'object' ? error.message : (error ?? body);
  const text = said
    .slice(0, maxReadLength)
    .toWellFormed()
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim();
  return text.startsWith('<') || text.startsWith('{') ? '' : text;
}

/**
 * A text without the words that have any four characters of the key in a row, of at most 300 characters. "" where it holds six letters
 * and digits of the key in a row, whatever stands between them: a key that is repeated in parts is in no word.
 */
function withoutKey(text: string, apiKey: string | null): string {
  const key = (apiKey ?? '').toLowerCase();
  const told = lettersOf(text);
  if (partsOf(lettersOf(key), 6).some((part) => told.includes(part))) return '';
  const parts = partsOf(key, 4);
  const words = text.split(' ').map((word) => (parts.some((part) => word.toLowerCase().includes(part)) ? '…' : word));
  return firstCodePoints(words.join(' '), maxErrorLength);
}

/** Every `length` characters of a key that follow one another; a shorter key itself. */
function partsOf(key: string, length: number): string[] {
  const size = Math.min(length, key.length);
  return Array.from({ length: size === 0 ? 0 : key.length - size + 1 }, (_, at) => key.slice(at, at + size));
}

/** A text's letters and digits alone. */
function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
