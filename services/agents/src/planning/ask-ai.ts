import { firstCodePoints } from '@customer-platform/contracts/core';
import { isSuccess, type Poster, type PostResult, parseUrl } from '@customer-platform/outbound';
import { LRUCache } from '@customer-platform/service-kit';
import { z } from 'zod';
import { firstOf } from './first-of.ts';
import { jsonOf } from './json-of.ts';
import { type Completion, type Prompt, tokensAtMost } from './prompt.ts';
import { sandboxCompletion } from './simulated-ai.ts';

/** The AI provider of an account. */
export interface AiProvider {
  /** Name in the ledger. */
  name: string;
  model: string;
  /** Undefined if this process simulates the AI. */
  endpoint?: { baseUrl: string; apiKey: string | null; poolKey: string; poster: Poster; timeoutMs: number };
}

/**
 * Result of one call. The ledger uses `outcome` and the tokens. `text` is the completion, "" if the response has none. `error` says why
 * there is no response and contains no part of the key. After a temporary error nothing is billed, and the call can be retried.
 */
export type AiResult = {
  outcome: 'answered' | 'refused' | 'unknown';
  promptTokens: number;
  completionTokens: number;
} & (Completion | { error: string; isTemporary: boolean; retryAfterMs: number; hasTimedOut?: boolean });

type AiFailure = Extract<AiResult, { error: string }>;

const maxErrorLength = 300;
/** Maximum length of a provider's error message that is examined, in UTF-16 units. */
const maxReadLength = 2_000;

/** Models that refused `max_tokens`, as [base_url, model]. */
const newerModels = new LRUCache<string, true>({ max: 1_000 });

/**
 * Requests one completion. Never repeats a request that may have been billed. If a model refuses `max_tokens`, like OpenAI's newer
 * models, sends the request again with `max_completion_tokens` and remembers that for the model.
 */
export async function askAi({ model, endpoint }: AiProvider, prompt: Prompt): Promise<AiResult> {
  if (!endpoint) return completed(JSON.stringify(sandboxCompletion(prompt)), prompt);
  if (!parseUrl(completionsUrl(endpoint)))
    return refused("The AI provider's base_url cannot be used; change it with PATCH /v1/agents/settings");
  const pair = JSON.stringify([endpoint.baseUrl, model]);
  if (!newerModels.has(pair)) {
    const result = await post(model, endpoint, prompt, 'max_tokens');
    if (!asksForOtherBound(result)) return resultOf(result, endpoint, prompt);
  }
  const result = await post(model, endpoint, prompt, 'max_completion_tokens');
  if (result.status === 400) newerModels.delete(pair);
  else newerModels.set(pair, true);
  return resultOf(result, endpoint, prompt);
}

type Endpoint = NonNullable<AiProvider['endpoint']>;

function completionsUrl({ baseUrl }: Endpoint): string {
  return `${baseUrl}/chat/completions`;
}

/** Sends one request. `bound` is the parameter that limits the completion's length. Never rejects. */
function post(
  model: string,
  endpoint: Endpoint,
  { messages, maxTokens }: Prompt,
  bound: 'max_tokens' | 'max_completion_tokens',
): Promise<PostResult> {
  const { apiKey, poolKey, poster } = endpoint;
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'user-agent': 'customer-platform-agents/1.0',
  };
  if (apiKey !== null) headers.authorization = `Bearer ${apiKey}`;
  const body = { model, messages, [bound]: maxTokens, response_format: { type: 'json_object' } };
  return poster.post({ poolKey, url: completionsUrl(endpoint), headers, body: JSON.stringify(body) });
}

/** Returns whether the provider refused a request, unbilled, because of `max_tokens`. */
function asksForOtherBound({ status, error, body }: PostResult): boolean {
  return status === 400 && !error && body.includes('max_completion_tokens');
}

function resultOf(result: PostResult, endpoint: Endpoint, prompt: Prompt): AiResult {
  if (isSuccess(result)) return completed(result.body, prompt);
  return { ...failed(result, endpoint), hasTimedOut: result.error === 'timeout' };
}

const count = z.int().min(0).max(1_000_000_000);
const Billed = z.object({
  usage: z.object({ prompt_tokens: count, completion_tokens: count, total_tokens: count.nullish() }),
});

/** Returns the result of a 2xx. Without `usage`, the upper bound of its texts counts as billed. Without a completion, the whole reservation. */
function completed(body: string, { tokensAtMost: promptTokensAtMost, maxTokens }: Prompt): AiResult {
  const read = jsonOf(body);
  const completion = completionIn(read);
  const { text, isCutOff } = completion ?? { text: '', isCutOff: false };
  const billed = Billed.safeParse(read).data?.usage;
  if (billed) {
    const { prompt_tokens: promptTokens, completion_tokens, total_tokens } = billed;
    // Some providers count reasoning tokens only in the total.
    const completionTokens = Math.max(completion_tokens, (total_tokens ?? 0) - promptTokens);
    return { outcome: 'answered', promptTokens, completionTokens, text, isCutOff };
  }
  if (!completion) return { outcome: 'unknown', promptTokens: 0, completionTokens: 0, text, isCutOff };
  const completionTokens = Math.min(tokensAtMost(text), maxTokens);
  return { outcome: 'answered', promptTokens: promptTokensAtMost, completionTokens, text, isCutOff };
}

/** Mistral's models send content in parts. Parts that are not text are reasoning. */
const ContentPart = z.object({ type: z.string(), text: z.unknown().optional() });
/** Maximum parts of a completion that are read. */
const maxParts = 1_000;
const tokens = z.number().nullish();
const CompletionBody = z.object({
  choices: firstOf(
    z
      .array(
        z.object({
          message: z.object({
            content: firstOf(z.union([z.string(), z.array(ContentPart)]), maxParts).nullish(),
            refusal: z.unknown().optional(),
          }),
          finish_reason: z.string().nullish(),
        }),
      )
      .min(1),
    1,
  ),
  usage: z.object({ prompt_tokens: tokens, completion_tokens: tokens, total_tokens: tokens }).nullish(),
});

/** Returns the text of a chat completion and whether the token limit cut it off. Returns undefined for any other body. */
function completionIn(body: unknown): Completion | undefined {
  const choice = CompletionBody.safeParse(body).data?.choices[0];
  if (!choice) return undefined;
  const { content, refusal } = choice.message;
  const parts = Array.isArray(content) ? content.filter(({ type }) => type === 'text') : [{ text: content }];
  const texts = [...parts.map(({ text }) => text), refusal].filter((text) => typeof text === 'string');
  return { text: texts.join(''), isCutOff: choice.finish_reason === 'length' };
}

/** Returns the failure of a call that was not billed. */
function refused(error: string, { isTemporary = false, retryAfterMs = 0 } = {}): AiFailure {
  return { outcome: 'refused', promptTokens: 0, completionTokens: 0, error, isTemporary, retryAfterMs };
}

/** Returns the failure of a call without a complete 2xx. */
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
  return {
    outcome: 'unknown',
    promptTokens: 0,
    completionTokens: 0,
    error: reason,
    isTemporary: false,
    retryAfterMs: 0,
  };
}

/** Reasons for which nothing was sent. */
const unsentReasons = {
  refused: 'it refuses connections',
  dns: 'its host name cannot be resolved',
  tls: 'its TLS certificate is not trusted',
  blocked: 'its address is not public',
};

const ErrorBody = z.object({ error: z.union([z.string(), z.object({ message: z.string() })]) });

/** Returns a provider's error message, or "" if it is not human-readable. */
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
 * Returns at most 300 characters of a text, with each word replaced that contains four consecutive characters of the key. Returns "" if
 * the text has six consecutive letters and digits of the key even across separators, since single words then do not reveal it.
 */
function withoutKey(text: string, apiKey: string | null): string {
  const key = (apiKey ?? '').toLowerCase();
  const letters = lettersOf(text);
  if (partsOf(lettersOf(key), 6).some((part) => letters.includes(part))) return '';
  const parts = new Set(partsOf(key, 4));
  const hasPart = (word: string) =>
    partsOf(word.toLowerCase(), Math.min(4, key.length)).some((part) => parts.has(part));
  const words = text.split(' ').map((word) => (hasPart(word) ? '…' : word));
  return firstCodePoints(words.join(' '), maxErrorLength);
}

/** Returns every substring of a key with this length, or the key itself if it is shorter. */
function partsOf(key: string, length: number): string[] {
  const size = Math.min(length, key.length);
  return Array.from({ length: size === 0 ? 0 : key.length - size + 1 }, (_, at) => key.slice(at, at + size));
}

/** Returns a text's letters and digits in lower case. */
function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
