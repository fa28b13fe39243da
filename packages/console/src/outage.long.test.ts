import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { serviceNames } from '@customer-platform/contracts/core';
import { needsAttention } from '@customer-platform/contracts/operators';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { account, id, northwind, processes, queues } from '../test/fixtures.ts';
import { stateOf } from '../test/stand-in-handlers.ts';
import { startSuite } from '../test/suite.ts';

const suite = startSuite();
const rowsOf = (page: Page, table = 'What needs attention') =>
  page.getByRole('table', { name: table }).locator('tbody').getByRole('row');
const repository = join(import.meta.dirname, '../../..');

afterEach(() => {
  Object.assign(suite.standIn.state, stateOf());
});

describe('Attention', () => {
  it('shows what it knows, and beside it what did not respond', async () => {
    suite.standIn.state.refused.set('listEndpoints', 'webhooks does not respond; try again shortly');
    const page = await suite.open('/');
    await page.getByText('Failing endpoints are unknown: webhooks does not respond').waitFor();
    await page.getByRole('row', { name: /^Dead calendar/ }).waitFor();
    await page.getByRole('row', { name: /^Lag webhooks/ }).waitFor();
    expect(await page.getByText('Loading…').count()).toBe(0);
  });

  it('does not say that nothing needs attention where not everything responded', async () => {
    const { state } = suite.standIn;
    Object.assign(state, { queues: [], processes: [], endpoints: [], gone: [] });
    state.refused.set('listEndpoints', 'webhooks does not respond; try again shortly');
    const page = await suite.open('/');
    const unknown = page.getByText('Nothing is known to need attention, but not everything responded.');
    await unknown.waitFor();
    state.refused.clear();
    await page.getByText(/^Nothing needs attention. Checked (now|\d+ s ago)\.$/).waitFor();
    state.refused.set('listServices', 'the processes cannot be asked');
    await page.getByText('Processes may be out of date: the processes cannot be asked').waitFor();
    await unknown.waitFor();
  });

  it('has a row, which the menu counts, for each process that waits, with the runbook of what it waits for', async () => {
    const { state } = suite.standIn;
    const [gateway, crm, webhooks] = processes().map((one) => ({ ...one, pool: { size: 10, used: 10, waiting: 0 } }));
    const waiting = [
      { ...gateway!, waiting_for: 'PostgreSQL, Redis', host: 'node-1', pid: 4001 },
      { ...crm!, waiting_for: null, pool: { size: 10, used: 10, waiting: 3 } },
      { ...webhooks!, waiting_for: null },
    ];
    Object.assign(state, { queues: [], endpoints: [], gone: [], processes: waiting });
    const page = await suite.open('/');
    const rows = rowsOf(page);
    await rows.first().waitFor();
    const texts = (await rows.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim());
    expect(texts).toEqual([
      'Waiting gateway on node-1, pid 4001 Waits for PostgreSQL. docs/runbooks/pool-exhausted.md',
      'Waiting gateway on node-1, pid 4001 Waits for Redis. docs/runbooks/redis-fallback.md',
      expect.stringMatching(/ 3 wait for one of its 10 connections to PostgreSQL\. \S+\/pool-exhausted\.md$/),
    ]);
    await page.getByRole('link', { name: 'Attention 3' }).waitFor();
  });

  it('suspects the bus where no service replies, and where the gateway that responds does not', async () => {
    suite.standIn.state.gone = [...serviceNames];
    const page = await suite.open('/');
    const rows = rowsOf(page);
    await page.getByText('NATS does not respond (or PostgreSQL, if processes are listed)').waitFor();
    await expect(rows.first().innerText()).resolves.toContain('docs/runbooks/outbox-stuck.md');
    await expect(rows.allInnerTexts()).resolves.toHaveLength(1);
    suite.standIn.state.gone = ['gateway', 'crm'];
    await page.getByRole('link', { name: 'Services' }).click();
    await page.getByRole('status').getByText('NATS does not respond: services may be well.').waitFor();
    await page.getByRole('status').getByText('docs/runbooks/outbox-stuck.md').waitFor();
  });

  it('names the queues that the filter of Queues leaves, which are those of the control plane’s own', async () => {
    const { state } = suite.standIn;
    const pause = { account: null, endpoint: null, reason: 'a test', actor: 'anna', at: new Date().toISOString() };
    state.gone = [];
    const conditions = [
      { lag_seconds: 60.5, ready: 2 },
      { lag_seconds: 59, ready: 40 },
      { dead: 1 },
      { failed_waiting: 3, waiting: 3 },
      { failed_waiting: 0, waiting: 3, running: 2 },
      { pauses: [pause] },
    ];
    const named = (index: number) => ({ ...queues()[index]!, dead: 0, lag_seconds: 0, failed_waiting: 0, pauses: [] });
    state.queues = conditions.map((condition, index) => ({ ...named(index), ...condition }));
    const needing = state.queues.filter(needsAttention).map(({ service, queue }) => `${service}/${queue}`);
    const links = (label: string) => page.getByRole('table', { name: label }).locator('tbody a:has(.service)');
    const page = await suite.open('/');
    await page.getByRole('row', { name: /^Failed .*3 entries wait for another try/ }).waitFor();
    expect([...(await links('What needs attention').allInnerTexts())].sort()).toEqual([...needing].sort());
    await page.goto('/#/queues?only=attention');
    await links('Queues').first().waitFor();
    expect(await links('Queues').allInnerTexts()).toEqual(needing);
    expect(needing).toHaveLength(4);
  });

  it('names a runbook in each row, and there is one', async () => {
    const state = suite.standIn.state;
    const pause = { account: null, endpoint: null, reason: 'a test', actor: 'anna', at: new Date().toISOString() };
    state.queues = queues().map((queue) => ({ ...queue, lag_seconds: 70, pauses: [pause], dead: 1 }));
    const page = await suite.open('/');
    const rows = rowsOf(page);
    await page.getByRole('row', { name: /^Failing/ }).waitFor();
    const texts = await rows.allInnerTexts();
    const named = texts.map((text) => /docs\/runbooks\/[a-z-]+\.md/.exec(text)?.[0] ?? text);
    expect(named.filter((path) => !existsSync(join(repository, path)))).toEqual([]);
    expect(new Set(named).size).toBeGreaterThan(6);
    expect(texts).toContainEqual(expect.stringMatching(/failing for\s+2 h 3\d min/));
    const runbookOf = (row: RegExp) => page.getByRole('row', { name: row }).locator('.runbook').innerText();
    await expect(runbookOf(/^Failed webhooks\/deliveries/)).resolves.toBe('docs/runbooks/endpoint-failing.md');
    await expect(runbookOf(/^Lag webhooks\/deliveries/)).resolves.toBe('docs/runbooks/deliveries-late.md');
  });
});

describe('while services are gone', () => {
  it('a list without entries says of whom that is unknown', async () => {
    suite.standIn.state.gone = ['webhooks'];
    const endpoints = await suite.open('/endpoints');
    await endpoints.getByText('webhooks does not respond: its endpoints are not listed.').waitFor();
    await endpoints.getByText('None at the services that responded; unknown for webhooks.').waitFor();
    Object.assign(suite.standIn.state, { dead: [], queues: [], gone: ['cdp'] });
    const page = await suite.open('/dead');
    const none = page.getByText('None at the services that responded; unknown for cdp.');
    await none.waitFor();
    await page.goto('/#/queues');
    await page.getByRole('heading', { level: 1, name: 'Queues' }).waitFor();
    await none.waitFor();
    await page.goto('/#/dead?service=cdp&queue=outbox');
    await page.getByRole('heading', { level: 1, name: 'Dead events' }).waitFor();
    await none.waitFor();
    expect(await page.getByText('There is no queue cdp/outbox').count()).toBe(0);
  });

  it('Services keeps their last row, whatever page was open when they were last seen', async () => {
    suite.standIn.state.gone = [];
    const page = await suite.open('/');
    await page.waitForResponse((response) => response.url().endsWith('/admin/services'));
    suite.standIn.state.gone = ['crm'];
    await page.getByRole('link', { name: 'Services' }).click();
    const row = page.getByRole('row', { name: /^crm gone last seen \d\d:\d\d:\d\d/ });
    await row.waitFor();
    await expect(row.innerText()).resolves.toContain('node-3');
    suite.standIn.state.gone = [];
    await row.waitFor({ state: 'detached' });
    await page.getByRole('row', { name: /^crm waits for Redis/ }).waitFor();
  });

  it('a queue’s page says so before its own request is refused', async () => {
    suite.standIn.state.gone = ['crm'];
    const { promise, resolve } = Promise.withResolvers<void>();
    suite.standIn.state.held.set('getQueue', promise);
    try {
      const page = await suite.open('/queues/crm/outbox');
      await page.getByText('crm does not respond: its queues are not listed').waitFor();
      expect(await page.getByText('Loading…').count()).toBe(0);
      await page.getByRole('status').getByRole('link', { name: 'Services' }).waitFor();
    } finally {
      resolve();
    }
  });

  it('a refusal stays while the page tries again, and leads to Services', async () => {
    const { state } = suite.standIn;
    state.refused.set('getQueue', 'crm does not respond; try again shortly');
    const page = await suite.open('/queues/crm/outbox');
    const refusal = page.getByRole('alert').filter({ hasText: 'crm does not respond' });
    await refusal.getByRole('link', { name: 'Services' }).waitFor();
    const { promise, resolve } = Promise.withResolvers<void>();
    state.held.set('getQueue', promise);
    try {
      await page.waitForRequest(/\/admin\/queues\/crm\/outbox/);
      await page.evaluate(
        'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())))',
      );
      expect(await refusal.count()).toBe(1);
      expect(await page.getByText('Loading…').count()).toBe(0);
      state.refused.clear();
    } finally {
      resolve();
    }
    await page.getByText('The queue is empty.').waitFor();
    expect(await refusal.count()).toBe(0);
  });

  it('a dead event that was refused is there once its service responds', async () => {
    suite.standIn.state.refused.set('getDeadEvent', 'calendar does not respond; try again once it is running');
    const page = await suite.open(`/dead/${id(40)}`);
    await page.getByText('calendar does not respond').waitFor();
    suite.standIn.state.refused.clear();
    await page.getByRole('heading', { level: 1, name: 'contact.updated' }).waitFor();
  });
});

describe('a person on call', () => {
  it('tells accounts of one name apart', async () => {
    suite.standIn.state.accounts.push(account(id(0xabcd), 'Northwind'));
    const page = await suite.open('/endpoints');
    await page.getByRole('link', { name: `Northwind …${northwind.slice(-8)}` }).waitFor();
    await page.getByRole('link', { name: 'Contoso', exact: true }).first().waitFor();
    await page.getByLabel('State').selectOption('Not failing');
    await page.getByRole('link', { name: 'https://hooks.northwind.example' }).waitFor({ state: 'detached' });
    expect(await page.getByLabel('State').locator('option').allInnerTexts()).toEqual(['All', 'Failing', 'Not failing']);
  });

  it('leaves a finished dialog behind with its page', async () => {
    const page = await suite.open('/queues');
    const link = page.getByRole('link', { name: /deliveries/ }).first();
    await link.click();
    await page.getByRole('button', { name: 'Retry failed' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Retry now' }).click();
    await page.getByRole('dialog').getByRole('status').waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Queues' }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('sees only the queues that need attention, and which errors are over', async () => {
    const page = await suite.open('/queues');
    const rows = rowsOf(page, 'Queues');
    await rows.first().waitFor();
    const count = await rows.count();
    const over = page.getByRole('row', { name: /^cdp\/audiences/ }).locator('.past');
    await expect(over.innerText()).resolves.toMatch(/statement timeout, 2 h ago$/);
    const deliveries = page.getByRole('row', { name: /^webhooks\/deliveries/ });
    expect(await deliveries.locator('.past').count()).toBe(0);
    await page.getByRole('link', { name: 'only what needs attention (2)' }).click();
    await over.waitFor({ state: 'detached' });
    await expect(rows.allInnerTexts()).resolves.toEqual([
      expect.stringContaining('calendar-contacts'),
      expect.stringContaining('deliveries'),
    ]);
    await page.getByRole('link', { name: `all (${count})` }).click();
    await over.waitFor();
  });

  it('reads in one line what an operator changed, and all of it on request', async () => {
    const page = await suite.open('/audit');
    const lines = page.getByRole('table', { name: 'Changes by operators' }).locator('summary');
    await lines.first().waitFor();
    await expect(lines.allInnerTexts()).resolves.toEqual([
      'reason: their server is down',
      'status: suspended → active',
      'rate_limit.per_minute: 600 → 1200',
    ]);
    await lines.first().click();
    await page.locator('pre').getByText(`"account": "${northwind}"`).waitFor();
  });
});
