import type { KnowledgeSource } from '@customer-platform/contracts/agents';
import { inTransaction } from '@customer-platform/service-kit';
import type { Platform, RawResponse, TestAccount } from '@customer-platform/testkit';
import { type Passage, replacePassages } from '../src/knowledge/passages.sql.ts';

/** An account, and helpers for its knowledge. */
export interface Library {
  account: TestAccount;
  /** Sends a request to a path under /v1/agents/knowledge. Returns the response, even if it is an error. */
  request(method: string, path: string, body?: unknown): Promise<RawResponse>;
  /** Creates a source. Throws PlatformError if it is refused. */
  add(body: Record<string, unknown>): Promise<KnowledgeSource>;
  article(title: string, more?: Record<string, unknown>): Promise<KnowledgeSource>;
  /** Uploads a file. Returns the response, even if it is an error. */
  upload(name: string, bytes: string | Buffer, more?: Record<string, string>): Promise<RawResponse>;
  get(id: string): Promise<KnowledgeSource>;
  /** Makes a source ready with these texts as its passages, without reading it. `language` is the account's language. */
  read(id: string, texts: (string | Partial<Passage>)[], language?: string): Promise<void>;
  /** Returns search results, best first. */
  search(query: string, more?: Record<string, unknown>): Promise<{ text: string; score: number; title: string }[]>;
}

export async function openLibrary(platform: Platform, settings: Record<string, unknown> = {}): Promise<Library> {
  const account = await platform.account(settings);
  const database = platform.database('agents');
  const root = '/v1/agents/knowledge';
  const request: Library['request'] = (method, path, body) =>
    account.request(method, root + path, body === undefined ? {} : { body });
  const add: Library['add'] = (body) => account.client.agents.knowledge.sources.create({ body: body as never });
  return {
    account,
    request,
    add,
    article: (title, more = {}) => add({ kind: 'article', title, body: 'Something.', ...more }),
    upload: (name, bytes, more = {}) =>
      uploadTo({ url: platform.gatewayUrl + root, key: account.key }, { name, bytes }, more),
    get: (id) => account.client.agents.knowledge.sources.get({ params: { source_id: id } }),
    async read(id, texts, language = 'en') {
      const passages = texts.map((text, position) => ({
        page: 0,
        position,
        heading_path: [],
        text: '',
        ...(typeof text === 'string' ? { text } : text),
      }));
      await inTransaction(database, async (tx) => {
        await tx`
          update sources set status = 'ready', error = '', due_at = null, tries = 0, reading_since = null
          where account_id = ${account.id} and id = ${id}`;
        await replacePassages(tx, { accountId: account.id, sourceId: id, language }, passages);
      });
    },
    async search(query, more = {}) {
      const { data } = await account.client.agents.knowledge.search({ body: { query, ...more } });
      return data.map(({ text, score, source }) => ({ text, score, title: source.title }));
    },
  };
}

async function uploadTo(
  { url, key }: { url: string; key: string },
  { name, bytes }: { name: string; bytes: string | Buffer },
  more: Record<string, string>,
): Promise<RawResponse> {
  const form = new FormData();
  form.append('file', new File([typeof bytes === 'string' ? bytes : new Uint8Array(bytes)], name));
  for (const [field, value] of Object.entries(more)) form.append(field, value);
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${url}/files`, { method: 'POST', headers, body: form });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
}

/** Returns the response expected for an invalid field. */
export const invalid = (field: string, status = 400) => ({
  status,
  body: { error: { code: 'invalid_request', field } },
});
