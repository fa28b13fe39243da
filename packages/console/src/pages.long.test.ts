import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { serviceNames } from '@customer-platform/contracts/core';
import { describe, expect, it } from '@jest/globals';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { failingEndpoint, id, northwind } from '../test/fixtures.ts';
import { stateOf } from '../test/stand-in-handlers.ts';
import { startSuite } from '../test/suite.ts';
import { traceId } from '../test/trace-fixture.ts';

/** All pages by path, with a selector that matches once the page is loaded. */
const pages: [path: string, shows: string][] = [
  ['/', 'table.data'],
  ['/queues', 'table.data canvas'],
  ['/queues/webhooks/deliveries?by=endpoint', 'table.data'],
  ['/dead', 'table.data'],
  [`/dead/${id(40)}`, 'pre'],
  [`/dead/${id(41)}`, 'pre.hex'],
  ['/endpoints', 'table.data'],
  [`/endpoints/${failingEndpoint}`, 'table.data'],
  [`/endpoints/${id(33)}`, '.notice'],
  ['/accounts', 'table.data'],
  [`/accounts/${northwind}`, 'table.data'],
  ['/services', 'table.data'],
  ['/addresses', 'table.data'],
  ['/audit', 'table.data'],
  ['/traces', 'table.data'],
  [`/traces/${traceId}`, '.waterfall'],
  ['/events', '.filters'],
];
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Runs all rules of axe. Requests only violations, since passes would describe thousands of elements. */
async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(axe);
  const { violations } = await page.evaluate<AxeResults>(`axe.run({ resultTypes: ['violations'] })`);
  expect(violations.flatMap(({ id: rule, nodes }) => nodes.map(({ html }) => `${rule}: ${html}`))).toEqual([]);
}

const suite = startSuite();

describe.each(['light', 'dark'] as const)('in %s', (scheme) => {
  it.each([...pages, ['', '.sign-in'] as [string, string]])('%s has no axe violations', async (path, shows) => {
    const token = path === '' ? { token: null } : {};
    const page = await suite.open(path, { scheme, ...token });
    await page.locator(shows).first().waitFor();
    await expectAccessible(page);
  });

  const affected = ['/', '/services', '/dead', '/endpoints', '/queues/crm/outbox'];
  it.each([...affected, `/endpoints/${failingEndpoint}`, `/accounts/${northwind}`])(
    '%s says that the bus is unavailable, without axe violations',
    async (path) => {
      const { state } = suite.standIn;
      state.gone = [...serviceNames];
      for (const key of ['listEndpoints', 'getEndpoint', 'getQueue'])
        state.refused.set(key, 'webhooks does not respond');
      try {
        const page = await suite.open(path, { scheme, width: 390 });
        await page
          .getByText(/^NATS .*does not respond/)
          .first()
          .waitFor();
        await expectAccessible(page);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
      } finally {
        Object.assign(state, stateOf());
      }
    },
  );

  it.each(['Create key', 'Plan', 'Modules'])('the dialog of %s has no axe violations', async (name) => {
    const page = await suite.open(`/accounts/${northwind}`, { scheme });
    await page.getByRole('button', { name, exact: true }).click();
    await page.getByRole('dialog').waitFor();
    await expectAccessible(page);
  });

  it.each(['Control+k', '?'])('the dialog that %s opens has no axe violations', async (key) => {
    const page = await suite.open('/', { scheme });
    await page.locator('table.data').first().waitFor();
    await page.keyboard.press(key);
    await page.getByRole('dialog').waitFor();
    await expectAccessible(page);
  });
});

/** Numbers that are measurements or settings, so they have nothing to link to. */
const measured = ['Up', 'Loop lag', 'Memory', 'Connections', 'Duration', 'Rate', 'starts at', 'took'];
/** Counts whose entries are not stored, and numbers that are not counts. */
const countedOnly = ['Failed', 'http.response.status_code'];

it.each(pages)('every number of %s links to what it counts', async (path, shows) => {
  const page = await suite.open(path);
  await page.locator(shows).first().waitFor();
  const plain = await page.evaluate<{ name: string; text: string }[]>(`
    [...document.querySelectorAll('td.number, .facts dd')]
      .filter((each) => /^[\\d,.]+/.test(each.textContent) && !each.querySelector('a, button, time, code, .none'))
      .map((each) => ({ name: each.dataset.label ?? each.previousElementSibling.textContent, text: each.textContent }))`);
  expect(plain.filter(({ name }) => ![...measured, ...countedOnly].includes(name))).toEqual([]);
});

describe.each([390, 800, 1024])('at %d px', (width) => {
  it.each(pages)('%s is not wider than the window', async (path, shows) => {
    const page = await suite.open(path, { width });
    const failures: string[] = [];
    page.on('console', (message) => message.type() === 'error' && failures.push(message.text()));
    page.on('pageerror', (error) => failures.push(error.message));
    await page.locator(shows).first().waitFor();
    // Overflowing text in a box with hidden overflow is cut without widening the document.
    const cut = `[...document.querySelectorAll('main *')].filter((each) => each.scrollWidth > each.clientWidth + 1
      && getComputedStyle(each).overflowX === 'hidden' && !each.closest('.hidden, thead, .uplot')).map((each) => each.outerHTML)`;
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    expect(await page.evaluate(cut)).toEqual([]);
    expect(failures).toEqual([]);
  });
});

describe('on a phone', () => {
  it('a button with the number of active filters opens them', async () => {
    const page = await suite.open('/traces?status_code=4xx', { width: 390 });
    const opener = page.getByRole('button', { name: 'Filters (1)' });
    await opener.waitFor();
    expect(await page.getByLabel('Operation').isVisible()).toBe(false);
    await opener.click();
    await page.getByLabel('Response').selectOption('');
    await page.getByRole('button', { name: 'Filters', exact: true }).waitFor();
    await page.getByRole('row', { name: /bookAppointment/ }).waitFor();
  });

  it('the menu opens every page, and closes', async () => {
    const page = await suite.open('/', { width: 390 });
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('link', { name: 'Queues' }).click();
    await page.getByRole('heading', { level: 1, name: 'Queues' }).waitFor();
    expect(await page.getByRole('navigation').isVisible()).toBe(false);
  });
});
