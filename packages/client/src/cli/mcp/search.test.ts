import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Receiver, startReceiver } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Me } from '../../generated/types.ts';
import { operationsOf } from './document.ts';
import { readSections, type Section } from './guides.ts';
import { pageResult } from './results.ts';
import { findGuides, findOperations } from './search.ts';

const docs = join(import.meta.dirname, '../../../../../docs');
const operations = operationsOf(JSON.parse(readFileSync(join(docs, 'reference/openapi.json'), 'utf8')));
const me = { scopes: ['*'], modules: [] as string[] } as Me;

describe('a search finds first the operation that is meant', () => {
  it.each([
    ['delete customer', 'deleteContact'],
    ['remove contacts', 'deleteContact'],
    ['deleting a contact', 'deleteContact'],
    ['who am I', 'getMe'],
    ['opt out', 'recordConsent'],
    ['Unsubscribe', 'recordConsent'],
    ['refund an order', 'declineOrder'],
    ['remove a team member', 'removeTeamMember'],
    ['send a text message', 'sendMessage'],
  ])('%s', (query, operation) => {
    expect(findOperations({ operations, me }, query)[0]).toMatchObject({ operation });
  });
});

describe('a search of the guides', () => {
  let server: Receiver;
  let sections: Section[];
  beforeAll(async () => {
    server = await startReceiver();
    server.respond = ({ path }, response) => {
      if (path === '/docs/long.md') return response.end(`# Long\n\n## Falcon\n\n${'Falcon '.repeat(10_000)}`);
      if (path === '/docs/webhooks.md') return response.end(page);
      return response.writeHead(404).end();
    };
    const guides = ['webhooks', 'long', 'none'].map((name) => ({ page: name, title: name, description: '' }));
    const client = { baseUrl: server.url, apiKey: 'cp_test_key' };
    sections = await readSections(client, guides, new AbortController().signal);
  });
  afterAll(() => server.stop());

  const page =
    '# Webhooks\n\nEvents at your URL.\n\n```sh\n## no heading\n```\n\n### Late ones\n\nA heron is patient.\n';

  it('finds text below a heading, and returns its offset', () => {
    const offset = page.indexOf('### Late ones');
    const found = { page: 'webhooks', title: 'webhooks', description: '', section: 'Late ones', offset };
    expect(findGuides(sections, 'herons')).toEqual([found]);
    expect(findOperations({ operations, me }, 'herons')).toEqual([]);
  });

  it('finds a page once, and without a section if the match is at the beginning', () => {
    expect(findGuides(sections, 'webhooks')).toEqual([{ page: 'webhooks', title: 'webhooks', description: '' }]);
  });

  it('finds a page that is too long or missing by its name only', () => {
    expect(findGuides(sections, 'falcon')).toEqual([]);
    expect(findGuides(sections, 'long').map((guide) => guide.page)).toEqual(['long']);
  });
});

it('a page is read from an offset, and the result says where to continue', () => {
  const long = 'ab'.repeat(75_000);
  const { text } = pageResult(long, 0).content[0];
  expect(text).toMatch(/^a.*\n\[100000 of 150000 characters so far; continue with offset 100000\]$/);
  expect(pageResult(long, 100_001).content[0].text).toBe(long.slice(100_001));
});
