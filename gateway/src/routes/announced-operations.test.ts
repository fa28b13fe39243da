import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { announcementTopic, describeApi, operationsOf } from '@customer-platform/contracts/core';
import {
  Bus,
  baseConfig,
  createLogger,
  implementer,
  processInstance,
  type Running,
  startService,
} from '@customer-platform/service-kit';
import { type Platform, rawRequest, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { startGateway } from '../main.ts';

/** An operation that is in no contract of this gateway. */
const getDealScore = operationsOf('crm', 'crm')('getDealScore', {
  method: 'GET',
  path: '/v1/crm/deals/{deal_id}/score',
  scope: 'crm.deals:read',
  summary: 'Retrieve a score',
  params: z.object({ deal_id: z.guid() }),
  status: 200,
  response: z.object({ deal_id: z.guid(), score: z.int() }),
  errors: [],
});
/** The operation that it replaces, which is deprecated. */
const getDealGrade = operationsOf('crm', 'crm')('getDealGrade', {
  method: 'GET',
  path: '/v1/crm/deals/{deal_id}/grade',
  scope: 'crm.deals:read',
  summary: 'Retrieve a grade',
  params: z.object({ deal_id: z.guid() }),
  status: 200,
  response: z.object({ grade: z.string() }),
  errors: [],
  deprecated: { since: '2026-11-01', sunset: '2027-11-01', instead: getDealScore },
});
const newOperations = {
  getDealScore: implementer()(getDealScore, {
    handle: async ({ params }) => ({ deal_id: params.deal_id, score: 7 }),
  }),
  getDealGrade: implementer()(getDealGrade, { handle: async () => ({ grade: 'A' }) }),
};
const path = '/v1/crm/deals/00000000-0000-4000-8000-000000000001/score';

let platform: Platform;
let account: TestAccount;
/** The directory of the next release of crm. */
let directory: string;
const running: Running[] = [];
const buses: Bus[] = [];

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  account = await platform.account();
  directory = mkdtempSync(join(tmpdir(), 'next-crm-'));
  mkdirSync(join(directory, 'migrations'));
  cpSync(new URL('../../../services/crm/migrations/', import.meta.url), join(directory, 'migrations'), {
    recursive: true,
  });
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ version: '1.1.0' }));
}, 60_000);
afterAll(async () => {
  for (const process of running) await process.stop();
  for (const bus of buses) await bus.close();
  await platform?.stop();
  rmSync(directory, { recursive: true });
});

/** Starts the next release of crm, which has operations that are in no contract. */
async function startNextCrm(env: Record<string, string> = {}): Promise<Running> {
  const migrations = pathToFileURL(`${join(directory, 'migrations')}/`);
  const definition = { name: 'crm' as const, config: baseConfig, migrations, operations: newOperations, requests: {} };
  const next = await startService(definition, { ...platform.env('crm'), ...env });
  running.push(next);
  return next;
}

async function startOtherGateway(env: Record<string, string>) {
  const gateway = await startGateway({ ...platform.env('gateway'), ...env });
  running.push(gateway);
  return gateway;
}

/** A process of a service on the bus, which announces the given operations. */
async function announcer(service: string) {
  const { NATS_URL, BUS_PREFIX } = platform.env('gateway') as Record<string, string>;
  const bus = await Bus.connect(NATS_URL!, { prefix: BUS_PREFIX!, service, log: createLogger('crm', 'silent') });
  buses.push(bus);
  const announcement = {
    instance: processInstance,
    version: '1.0.0',
    startedAt: '2026-01-01T00:00:00.000Z',
    contract: 'of-another-release',
    operations: [] as unknown[],
  };
  const announce = (changes: Partial<typeof announcement>) =>
    bus.publishNews(announcementTopic, JSON.stringify({ ...announcement, ...changes }));
  return { bus, announce };
}

const get = (url: string, at: string) => rawRequest(url, 'GET', at, { key: account.key });
const listMessages = {
  key: 'listMessages',
  method: 'GET',
  path: '/v1/messages',
  scope: 'messages:read',
  gate: null,
};
const operation = (at: string, key: string, more: object = {}) => ({ ...listMessages, key, path: at, ...more });

describe('a service of the next release', () => {
  it('serves its new operation through a gateway that does not know it, and is 503 when it is gone, even after the gateway restarts', async () => {
    const next = await startNextCrm();
    const gateway = await startOtherGateway({ CRM_URL: next.url });
    const response = await waitFor('the gateway to know', async () => {
      const { status, body } = await get(gateway.url, path);
      return status === 200 ? body : undefined;
    });
    expect(response).toEqual({ deal_id: '00000000-0000-4000-8000-000000000001', score: 7 });
    const unscoped = await platform.issueKey(account.id, { scopes: ['webhooks:read'] });
    expect(await rawRequest(gateway.url, 'GET', path, { key: unscoped })).toMatchObject({
      status: 403,
      body: { error: { code: 'scope_missing' } },
    });
    expect(await get(gateway.url, `${path}s`)).toMatchObject({ status: 404 });

    await next.stop();
    expect(await get(gateway.url, path)).toMatchObject({ status: 503 });
    const restarted = await startOtherGateway({ CRM_URL: next.url });
    expect(await get(restarted.url, path)).toMatchObject({ status: 503 });
  }, 60_000);

  it('marks each response of a deprecated operation with the path of its successor', async () => {
    const next = await startNextCrm();
    const gateway = await startOtherGateway({ CRM_URL: next.url });
    const marksAt = async (at: string) => {
      const { status, headers } = await get(gateway.url, at);
      return { status, marks: ['deprecation', 'sunset', 'link'].map((name) => headers.get(name)) };
    };
    const days = ['@1793491200', 'Mon, 01 Nov 2027 00:00:00 GMT'];
    const grade = path.replace('/score', '/grade');
    await waitFor('the gateway to know', async () => (await marksAt(grade)).status === 200);
    const link = `<${path}>; rel="successor-version"`;
    expect(await marksAt(grade)).toEqual({ status: 200, marks: [...days, link] });
    // Refusals are marked too, and a path cannot inject anything into the header.
    expect(await marksAt(`${grade}?x=1`)).toEqual({ status: 400, marks: [...days, link] });
    expect(await marksAt('/v1/crm/deals/a%3E%0D%0Ab/grade')).toEqual({
      status: 404,
      marks: [...days, '</v1/crm/deals/a%3E%0D%0Ab/score>; rel="successor-version"'],
    });
    expect(await marksAt(path)).toEqual({ status: 200, marks: [null, null, null] });
    await next.stop();
  }, 60_000);

  it('makes the gateway refuse announcements of older processes during a rollout', async () => {
    const shown = async () => {
      const { body } = await platform.admin('GET', '/admin/services');
      return body.data.find(({ service }: { service: string }) => service === 'crm').refused;
    };
    const { announce } = await announcer('crm');
    announce({ version: '0.9.0', operations: [] });
    expect(await waitFor('the refusal', shown)).toEqual([
      { route: null, reason: expect.stringMatching(/^version 0\.9\.0 .* is below/) },
    ]);
    const agents = await announcer('agents');
    agents.announce({ version: '1.1.0', operations: [operation('/v1/agents/new', 'newOne')] });
    // Before the announcement this path belongs to agents' own operation.
    await waitFor('the new one', async () => (await get(platform.gatewayUrl, '/v1/agents/newest')).status === 404);
    expect((await get(platform.gatewayUrl, '/v1/agents/new')).status).toBe(503);
    agents.announce({ version: '1.0.9', operations: [operation('/v1/agents/old', 'oldOne')] });
    agents.announce({ version: '1.1.0', startedAt: '2025-01-01T00:00:00.000Z', operations: [] });
    agents.announce({ version: '1.1.1', operations: [operation('/v1/agents/newest', 'newest')] });
    await waitFor('the newest', async () => (await get(platform.gatewayUrl, '/v1/agents/newest')).status === 503);
    expect((await get(platform.gatewayUrl, '/v1/agents/old')).status).toBe(404);
  }, 60_000);
});

describe('an announcement', () => {
  const statusOf = async (at: string) => (await get(platform.gatewayUrl, at)).status;

  it('is refused route by route, and the refusals are shown with the process', async () => {
    const { announce } = await announcer('crm');
    announce({
      version: '2.0.0',
      operations: [
        operation('/v1/crm/fine', 'fine'),
        operation('/v1/cdp/contacts', 'foreign'),
        operation('/v1/crmx', 'beside'),
        operation('/admin/keys', 'admin'),
        operation('/v1/crm/{Bad}', 'malformed'),
        operation('/v1/crm/../cdp', 'dots'),
        operation('/v1/crm/other', 'fine'),
        operation('/v1/crm/{one}', 'one'),
        operation('/v1/crm/{two}', 'two'),
        operation('/v1/crm/module', 'module', { gate: 'billing' }),
        operation('/v1/crm/scope', 'scope', { scope: 'everything' }),
        operation('/v1/crm/limit', 'limit', { bodyLimit: 1e12 }),
        operation('/v1/crm/method', 'method', { method: { toString: 1 } }),
        null,
      ],
    });
    const refused = await waitFor('the gateway to know', async () => {
      const { body } = await platform.admin('GET', '/admin/services');
      const crm = body.data.find(({ service }: { service: string }) => service === 'crm');
      return crm.refused?.length > 1 ? (crm.refused as { route: string; reason: string }[]) : undefined;
    });
    expect(refused.map(({ route }) => route)).toEqual([
      'GET /v1/cdp/contacts',
      'GET /v1/crmx',
      'GET /admin/keys',
      'GET /v1/crm/{Bad}',
      'GET /v1/crm/../cdp',
      'GET /v1/crm/other',
      'GET /v1/crm/{two}',
      'GET /v1/crm/module',
      'GET /v1/crm/scope',
      'GET /v1/crm/limit',
      'object /v1/crm/method',
      'undefined undefined',
    ]);
    expect(refused[0]!.reason).toBe('path must be within /v1/crm');
    expect(refused[6]!.reason).toBe('path is already used by one');
    expect((await get(platform.gatewayUrl, `/v1/crm/deals/${account.id}`)).body.error.message).toBe(
      'No operation exists at this path',
    );
    expect(await statusOf('/v1/messages')).toBe(503);
  }, 60_000);

  it('that is malformed changes nothing', async () => {
    const { bus, announce } = await announcer('catalogue');
    for (const payload of ['', 'null', '{', '[]', '{"operations":1}', JSON.stringify({ version: '1' })]) {
      bus.publishNews(announcementTopic, payload);
    }
    announce({ version: '1.0' });
    announce({ startedAt: 'yesterday' });
    announce({ operations: [operation('/v1/catalogue/last', 'last')], version: '3.0.0' });
    await waitFor('the gateway to know', async () => (await statusOf('/v1/catalogue/last')) === 503);
    expect(await statusOf('/v1/catalogue/products')).toBe(404);
  }, 60_000);

  it('is described in the OpenAPI document by the service itself, limited to routed operations', async () => {
    const { bus, announce } = await announcer('messaging');
    const at = (key: string) => ({ get: { operationId: key, responses: {} } });
    const part = {
      paths: { '/v1/messages': at('listMessages'), '/v1/messages/new': at('newOne'), '/v1/cdp/contacts': at('theft') },
      webhooks: {
        'message.sent': { post: { operationId: 'new' } },
        'contact.created': { post: { operationId: 'theft' } },
      },
      components: { schemas: { Message: { type: 'object', description: 'of the next release' } } },
    };
    bus.handle(describeApi('messaging'), async () => ({
      document: gzipSync(JSON.stringify(part)).toString('base64'),
    }));
    announce({ operations: [listMessages, operation('/v1/messages/new', 'newOne')], version: '4.0.0' });
    const document = await waitFor('the gateway to know', async () => {
      const { body } = await get(platform.gatewayUrl, '/v1/openapi.json');
      return body.paths['/v1/messages/new'] ? body : undefined;
    });
    expect(Object.keys(document.paths).filter((each) => each.startsWith('/v1/messages'))).toEqual([
      '/v1/messages',
      '/v1/messages/new',
    ]);
    expect(document.paths['/v1/cdp/contacts'].get.operationId).toBe('listContacts');
    expect(document.webhooks['contact.created'].post.operationId).toBe('contact.created');
    expect(document.webhooks['message.sent'].post.operationId).toBe('new');
    expect(document.components.schemas.Message.description).toBe('of the next release');
  }, 60_000);
});
