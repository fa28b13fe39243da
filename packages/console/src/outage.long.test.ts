import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { serviceNames } from '@customer-platform/contracts/core';
import { needsAttention } from '@customer-platform/contracts/operators';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { account, id, northwind, processes, queues } from '../test/fixtures.ts';
import { stateOf } from '../test/stand-in-handlers.ts';
import { startSuite } from '../test/suite.ts';

const suite = startSuite();
/** Returns the texts of rows, with whitespace collapsed. */
const textsOf = async (rows: Locator) =>
  (await rows.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim());
const rowsOf = (page: Page, table = 'What needs attention') =>
  page.getByRole('table', { name: table }).locator('tbody').getByRole('row');
/** No problems of customers. */
const noCustomers = { channels: [], accounts: [], endpoints: [], addresses: [] };
const repository = join(import.meta.dirname, '../../..');

afterEach(() => {
  Object.assign(suite.standIn.state, stateOf());
});

describe('Attention', () => {
  it('shows what is known, and names the source that did not respond', async () => {
    suite.standIn.state.refused.set('listEndpoints', 'webhooks does not respond; try again shortly');
    const page = await suite.open('/');
    await page.getByText('Failing endpoints are unknown: webhooks does not respond').waitFor();
    await page.getByRole('row', { name: /^Dead calendar/ }).waitFor();
    await page.getByRole('row', { name: /^Late webhooks/ }).waitFor();
    expect(await page.getByText('Loading…').count()).toBe(0);
  });

  it('does not say that nothing needs attention if not everything responded', async () => {
    const { state } = suite.standIn;
    Object.assign(state, { queues: [], processes: [], endpoints: [], customers: noCustomers, gone: [] });
    state.refused.set('listEndpoints', 'webhooks does not respond; try again shortly');
    const page = await suite.open('/');
    const unknown = page.getByText('Nothing is known to need attention, but not everything responded.');
    await unknown.waitFor();
    state.refused.clear();
    await page.getByText(/^Nothing needs attention. Checked (just now|\d+ s ago)\.$/).waitFor();
    state.refused.set('listServices', 'the processes cannot be asked');
    await page.getByText('Processes may be out of date: the processes cannot be asked').waitFor();
    await unknown.waitFor();
  });

  it('has one row per missing dependency with its runbook and all waiting processes, and the menu counts the rows', async () => {
    const { state } = suite.standIn;
    const [gateway, crm, webhooks] = processes().map((one) => ({ ...one, pool: { size: 10, used: 10, waiting: 0 } }));
    const waiting = [
      { ...gateway!, waiting_for: 'PostgreSQL, Redis', host: 'node-1', pid: 4001 },
      { ...crm!, waiting_for: 'Redis', host: 'node-2', pid: 4002, pool: { size: 10, used: 10, waiting: 3 } },
      { ...webhooks!, waiting_for: null },
    ];
    Object.assign(state, { queues: [], endpoints: [], customers: noCustomers, gone: [], processes: waiting });
    const page = await suite.open('/');
    const rows = rowsOf(page);
    await rows.first().waitFor();
    expect(await textsOf(rows)).toEqual([
      'Blocked gateway Waits for PostgreSQL: gateway on node-1, pid 4001. docs/runbooks/pool-exhausted.md Services',
      'Blocked 2 processes Waits for Redis: gateway on node-1, pid 4001; calendar on node-2, pid 4002. docs/runbooks/redis-fallback.md Services',
      'Blocked calendar 3 wait for one of its 10 connections to PostgreSQL: calendar on node-2, pid 4002. docs/runbooks/pool-exhausted.md Services',
    ]);
    await page.getByRole('link', { name: 'Overview 3' }).waitFor();
  });

  it('shows each problem once: a failing endpoint, a channel whose messages fail, a pause that makes a queue late', async () => {
    const { state } = suite.standIn;
    const pause = { account: null, endpoint: null, reason: 'a test', actor: 'anna', at: new Date().toISOString() };
    state.gone = [];
    state.processes = [];
    state.queues = queues().map((queue) => {
      if (queue.queue === 'deliveries') return { ...queue, lag_seconds: 2 };
      if (queue.queue === 'messages') return { ...queue, lag_seconds: 300, paused: true, pauses: [pause] };
      return { ...queue, dead: 0 };
    });
    const page = await suite.open('/');
    await page
      .getByRole('row', { name: /^Paused messaging\/messages/ })
      .filter({ hasText: '“a test”' })
      .filter({ hasText: '5 min old' })
      .waitFor();
    const named = (await textsOf(rowsOf(page))).map((text) => text.split(' ').slice(0, 2).join(' '));
    expect(named).toEqual([
      'Failing hooks.northwind.example',
      'Failing whatsapp',
      'Failed Northwind',
      'Refused Northwind',
      'Disabled old.contoso.example',
      'Invalid keys',
      'Paused messaging/messages',
    ]);
  });

  it('has the actions of each row', async () => {
    const { state } = suite.standIn;
    const page = await suite.open('/');
    const enable = page.getByRole('button', { name: 'Enable https://old.contoso.example/hook' });
    await enable.click();
    state.customers.endpoints = [];
    await page.getByRole('dialog').getByRole('button', { name: 'Enable' }).click();
    await page.getByRole('status').getByText('Enabled https://old.contoso.example/hook.').waitFor();
    await enable.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Resend failed messages of Northwind' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resend' }).click();
    await page.getByRole('status').getByText('31 messages are sent again.').waitFor();
    await page
      .getByRole('row', { name: /^Refused/ })
      .getByRole('link', { name: '2,310 of 18,400 requests' })
      .click();
    await page.getByRole('row', { name: /429 rate_limited/ }).waitFor();
    expect(await page.getByRole('row', { name: /^bookAppointment/ }).count()).toBe(0);
  });

  it('suspects the bus if no service replies, or if only the gateway’s reply over the bus is missing', async () => {
    const { state } = suite.standIn;
    Object.assign(state, { gone: [], customers: noCustomers });
    const page = await suite.open('/');
    await page.getByRole('img', { name: /^Deliveries waiting: due now 1,220, .* later now 3,310/ }).waitFor();
    state.gone = [...serviceNames];
    const rows = rowsOf(page);
    await page.getByRole('img', { name: /^Deliveries waiting: due now unknown, .* later now unknown/ }).waitFor();
    await page.getByText('NATS or PostgreSQL does not respond').waitFor();
    await expect(rows.first().innerText()).resolves.toContain('docs/runbooks/outbox-stuck.md');
    await expect(rows.allInnerTexts()).resolves.toHaveLength(1);
    state.gone = ['gateway', 'crm'];
    await page.getByRole('navigation').getByRole('link', { name: 'Services' }).click();
    await page.getByRole('status').getByText('NATS does not respond: the services may still be running.').waitFor();
    await page.getByRole('status').getByText('docs/runbooks/outbox-stuck.md').waitFor();
  });

  it('names the queues that Queues lists first, by the same rule as the control plane', async () => {
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
    await page.getByRole('row', { name: /^Retrying .*3 entries wait for a retry/ }).waitFor();
    expect([...(await links('What needs attention').allInnerTexts())].sort()).toEqual([...needing].sort());
    await page.goto('/#/queues');
    await links('Queues that need attention').first().waitFor();
    expect(await links('Queues that need attention').allInnerTexts()).toEqual(needing);
    expect(needing).toHaveLength(4);
  });

  it('names an existing runbook in each row', async () => {
    const state = suite.standIn.state;
    const pause = { account: null, endpoint: null, reason: 'a test', actor: 'anna', at: new Date().toISOString() };
    state.queues = queues().map((queue) => ({ ...queue, lag_seconds: 70, pauses: [pause], dead: 1 }));
    const page = await suite.open('/');
    const rows = rowsOf(page);
    await page.getByRole('row', { name: /^Failing hooks/ }).waitFor();
    const texts = await rows.allInnerTexts();
    const named = texts.map((text) => /docs\/runbooks\/[a-z-]+\.md/.exec(text)?.[0] ?? text);
    expect(named.filter((path) => !existsSync(join(repository, path)))).toEqual([]);
    expect(new Set(named).size).toBeGreaterThan(6);
    expect(texts).toContainEqual(expect.stringMatching(/failing for\s+2 h 3\d min/));
    const runbookOf = (row: RegExp) => page.getByRole('row', { name: row }).locator('.runbook').innerText();
    await expect(runbookOf(/^Paused webhooks\/deliveries/)).resolves.toBe('docs/runbooks/deliveries-late.md');
  });
});

describe('while services are gone', () => {
  it('an empty list names the services whose entries are unknown', async () => {
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
    await none.first().waitFor();
    await page.getByRole('heading', { name: 'Need attention', exact: true }).waitFor();
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
    await page.getByRole('navigation').getByRole('link', { name: 'Services' }).click();
    const row = page.getByRole('row', { name: /^crm gone last seen \d\d:\d\d:\d\d/ });
    await row.waitFor();
    await expect(row.innerText()).resolves.toContain('node-3');
    // Without the bus, the state of processes is unknown.
    suite.standIn.state.gone = [...serviceNames];
    await page.getByRole('row', { name: /^crm unknown last seen/ }).waitFor();
    await page.getByRole('row', { name: /^gateway unknown last seen/ }).waitFor();
    expect(await page.getByRole('row', { name: / gone last seen/ }).count()).toBe(0);
    suite.standIn.state.gone = [];
    await row.waitFor({ state: 'detached' });
    await page.getByRole('row', { name: /^crm waits for Redis/ }).waitFor();
  });

  it('a queue’s page says so before its own request fails', async () => {
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

  it('an error stays while the page retries, and links to Services', async () => {
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

  it('a dead event appears once its service responds', async () => {
    suite.standIn.state.refused.set('getDeadEvent', 'calendar does not respond; try again once it is running');
    const page = await suite.open(`/dead/${id(40)}`);
    await page.getByText('calendar does not respond').waitFor();
    suite.standIn.state.refused.clear();
    await page.getByRole('heading', { level: 1, name: 'contact.updated' }).waitFor();
  });
});

describe('a person on call', () => {
  it('can distinguish accounts with the same name', async () => {
    suite.standIn.state.accounts.push(account(id(0xabcd), 'Northwind'));
    const page = await suite.open('/endpoints');
    await page.getByRole('link', { name: `Northwind …${northwind.slice(-8)}` }).waitFor();
    await page.getByRole('link', { name: 'Contoso', exact: true }).first().waitFor();
    await page.getByLabel('State').selectOption('Not failing');
    await page.getByRole('link', { name: 'https://hooks.northwind.example' }).waitFor({ state: 'detached' });
    expect(await page.getByLabel('State').locator('option').allInnerTexts()).toEqual(['All', 'Failing', 'Not failing']);
  });

  it('closes a dialog by leaving its page', async () => {
    const page = await suite.open('/queues');
    await page
      .getByRole('link', { name: /deliveries/ })
      .first()
      .click();
    await page.getByRole('button', { name: 'Retry', exact: true }).first().click();
    await page.getByRole('dialog').waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Queues' }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('sees the queues that need attention first, unfolds the others, and sees which errors are over', async () => {
    const page = await suite.open('/queues');
    const needing = rowsOf(page, 'Queues that need attention');
    await needing.first().waitFor();
    await expect(needing.allInnerTexts()).resolves.toEqual([
      expect.stringContaining('calendar-contacts'),
      expect.stringContaining('deliveries'),
    ]);
    expect(await needing.locator('.past').count()).toBe(0);
    const over = page.getByRole('row', { name: /^cdp\/audiences/ }).locator('.past');
    expect(await over.count()).toBe(0);
    await page.getByText('1 running, 12 waiting').click();
    await expect(over.innerText()).resolves.toMatch(/statement timeout, 2 h ago$/);
    await page.getByRole('button', { name: 'Unfold all' }).click();
    await page.getByRole('row', { name: /^gateway\/outbox/ }).waitFor();
    await page.getByRole('button', { name: 'Fold all' }).click();
    await over.waitFor({ state: 'detached' });
  });

  it('reads the value of a chart under the cursor, and a gap where samples are missing', async () => {
    const page = await suite.open('/queues/webhooks/deliveries');
    const chart = page.getByRole('figure');
    const legend = chart.locator('.legend');
    await chart.getByText('last hour').waitFor();
    const box = (await chart.locator('.u-over').boundingBox())!;
    const pointAt = (share: number) => page.mouse.move(box.x + box.width * share, box.y + box.height / 2);
    // Half an hour ago, the queue was twice as deep. The oldest sample is 59 minutes old.
    await pointAt(29.1 / 59);
    await chart.getByText(/^at \d\d:\d\d$/).waitFor();
    await expect(legend.innerText()).resolves.toMatch(/2,4\d\d\s+due\s+6,620\s+later/);
    await pointAt(19 / 60);
    await legend.getByText('–').first().waitFor();
    await page.mouse.move(0, 0);
    await chart.getByText('last hour').waitFor();
    await expect(legend.innerText()).resolves.toMatch(/1,220\s+due\s+3,310\s+later/);
  });

  it('sees the environment on each page', async () => {
    suite.standIn.state.environment = 'production-eu';
    const page = await suite.open('/audit');
    const header = page.getByRole('banner').first();
    await header.getByText('production-eu').waitFor();
    await header.getByText('1.0.0').waitFor();
    await expect(header.getAttribute('class')).resolves.toBe('bar production');
    await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor();
    expect(await page.title()).toBe('Audit · production-eu · Customer Platform');
  });

  it('reads an operator’s change in one line, and all of it on request', async () => {
    const page = await suite.open('/audit');
    const lines = page.getByRole('table', { name: 'Changes by operators' }).locator('summary');
    await lines.first().waitFor();
    await expect(lines.allInnerTexts()).resolves.toEqual([
      'no other fields',
      'status: suspended → active',
      'rate_limit.per_minute: 600 → 1200',
      'active: false → true',
    ]);
    await page
      .getByRole('row')
      .filter({ hasText: 'queues.pause' })
      .filter({ hasText: 'their server is down' })
      .waitFor();
    await lines.first().click();
    await page.locator('pre').getByText(`"account": "${northwind}"`).waitFor();
  });
});
