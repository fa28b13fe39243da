/** Public page: a Markdown file in `docs`. Its path on the site is its name without `.md`. */
export interface ListedPage {
  file: string;
  /** Short name in the navigation. The page's own heading may be longer. */
  title: string;
  /** One sentence for search engines, assistants and the home page. */
  summary: string;
  /** Words that readers search for and that the page's text lacks. Only the search index has them. */
  keywords?: string;
}

export interface Group {
  label: string;
  pages: readonly ListedPage[];
}

/** Name of the site. */
export const siteTitle = 'Customer Platform';

/** Path of the site on the public port, without a trailing slash. */
export const base = '/docs';

/** The page rendered from the OpenAPI document, below the guides in the navigation. */
export const referencePage: ListedPage = {
  file: 'reference.md',
  title: 'API reference',
  summary: 'Every operation with its scope, parameters, fields and errors.',
};

/** Every page that a developer without access to the platform's sources can read, in reading order. */
export const groups: readonly Group[] = [
  {
    label: 'Start',
    pages: [
      {
        file: 'index.md',
        title: 'Overview',
        summary: 'What the platform does, the first request, and what to read next.',
        keywords: 'home start documentation',
      },
      {
        file: 'quickstart.md',
        title: 'Quickstart',
        summary: 'Receive webhooks, book an appointment and send a message in ten minutes.',
        keywords: 'getting started install tutorial first request hello world',
      },
      {
        file: 'concepts.md',
        title: 'Concepts',
        summary: 'Accounts, sandboxes, keys, contacts and modules, and the lifecycles of their resources.',
        keywords: 'glossary terms account workspace teammate member status states lifecycle diagram',
      },
    ],
  },
  {
    label: 'Using the API',
    pages: [
      {
        file: 'authentication.md',
        title: 'Authentication',
        summary: 'Send an API key, choose its scopes, rotate and revoke it.',
        keywords: 'login token bearer api key secret permission scope 401 403 unauthorized forbidden rotate',
      },
      {
        file: 'errors.md',
        title: 'Errors',
        summary: 'The error body, each code, and which requests to retry.',
        keywords: 'exception failure status code 400 401 403 404 409 422 429 500 503 retry validation',
      },
      {
        file: 'paging.md',
        title: 'Paging',
        summary: 'Read long lists page by page, and keep a copy in sync.',
        keywords: 'pagination cursor next page limit offset list sync synchronise synchronize export all',
      },
      {
        file: 'idempotency.md',
        title: 'Idempotency',
        summary: 'Repeat a request without doing its work twice.',
        keywords: 'retry retries repeat duplicate twice timeout Idempotency-Key',
      },
      {
        file: 'rate-limits.md',
        title: 'Rate limits',
        summary: 'How many requests a key may send, and what a 429 response says.',
        keywords: '429 too many requests throttle throttling quota burst Retry-After backoff',
      },
      {
        file: 'versioning.md',
        title: 'Versions and changes',
        summary: 'Which changes to expect within a version, and how to prepare for them.',
        keywords: 'version breaking change deprecated compatibility enum null upgrade',
      },
    ],
  },
  {
    label: 'Modules',
    pages: [
      {
        file: 'customer-data.md',
        title: 'Customer data',
        summary: 'Contacts, their consents, custom fields, activities, audiences and duplicates.',
        keywords: 'contact import csv bulk batch null clear a field tag segment gdpr delete opt-in consent merge crm',
      },
      {
        file: 'calendar.md',
        title: 'Calendar',
        summary: 'Teammates, booking types, free times and appointments that never overlap.',
        keywords:
          'booking appointment reschedule move cancel timezone time zone daylight saving slot availability opening hours',
      },
      {
        file: 'agents.md',
        title: 'AI agents',
        summary: 'Agents that reply to customers by plans that a person approves.',
        keywords: 'assistant bot llm ai model openai anthropic prompt knowledge rag approval plan tokens cost',
      },
      {
        file: 'messages.md',
        title: 'Messages',
        summary: 'WhatsApp, SMS and email with fallback, templates, consent and receipts.',
        keywords:
          'sms email whatsapp send text template opt-out opt out unsubscribe stop delivery receipt media inbound',
      },
      {
        file: 'orders.md',
        title: 'Orders',
        summary: 'Products, and orders from the first item to fulfilment.',
        keywords:
          'order product catalogue catalog sku price refund refunds payment cancel decline return money currency',
      },
      {
        file: 'deals.md',
        title: 'Deals',
        summary: 'Deals that move through the stages of a pipeline until they are won or lost.',
        keywords: 'deal pipeline stage sales opportunity lead forecast crm won lost',
      },
    ],
  },
  {
    label: 'Events',
    pages: [
      {
        file: 'webhooks.md',
        title: 'Webhooks',
        summary: 'Receive events at your URL, verify their signatures, and redeliver failed ones.',
        keywords: 'webhook signature verify hmac secret whsec endpoint callback redelivery replay signing',
      },
      {
        file: 'events.md',
        title: 'Events',
        summary: 'Every kind of event, its order, and the log and stream of events.',
        keywords: 'event type kind list stream sse sequence gap replay missed polling',
      },
    ],
  },
  {
    label: 'Test and tools',
    pages: [
      {
        file: 'sandbox.md',
        title: 'Sandbox and clock',
        summary: 'Test without contacting anyone, and fast-forward time.',
        keywords: 'test mode testing simulate time travel clock advance fake cp_test',
      },
      {
        file: 'client.md',
        title: 'TypeScript client',
        summary: 'The typed client for Node.js, Deno and Bun.',
        keywords: 'sdk library javascript typescript node deno bun npm install package',
      },
      {
        file: 'client-python.md',
        title: 'Python client',
        summary: 'The typed client for Python 3.10 and later.',
        keywords: 'sdk library python pip install httpx package',
      },
      {
        file: 'command-line.md',
        title: 'Command line',
        summary: 'Import and export contacts, forward webhooks, and manage keys from a terminal.',
        keywords: 'cli terminal tool csv export listen trigger shell',
      },
      {
        file: 'assistants.md',
        title: 'Assistants (MCP)',
        summary: 'Let a coding assistant read this documentation and call the API.',
        keywords: 'mcp model context protocol claude cursor copilot llms.txt ai agent',
      },
    ],
  },
];

/** Pages below the reference in the navigation. */
export const lastPages: readonly ListedPage[] = [
  {
    file: 'changelog.md',
    title: 'Changelog',
    summary: 'What changed for programs that call the API.',
    keywords: 'release notes new breaking change deprecated version history',
  },
];

/** Every page of the site except the reference. */
export const guides: readonly ListedPage[] = [...groups.flatMap(({ pages }) => pages), ...lastPages];

/**
 * Replacements for files in `docs/reference`, which are for readers of the sources. Other pages of the site have the same content. Paths
 * with a leading slash are paths on the public port, the others are pages of the site.
 */
export const elsewhere: Readonly<Record<string, string>> = {
  'reference/operations.md': 'reference.md',
  'reference/errors.md': 'errors.md',
  'reference/events.md': 'events.md',
  'reference/openapi.json': '/v1/openapi.json',
};
