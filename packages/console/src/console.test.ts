import { afterEach, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { signIn } from '../test/browser.ts';
import { id, northwind } from '../test/fixtures.ts';
import { newKey, stateOf } from '../test/stand-in-handlers.ts';
import { startSuite } from '../test/suite.ts';

const suite = startSuite();

describe('the token', () => {
  it('is requested, refused with the envelope’s message, and kept only for the tab', async () => {
    const page = await suite.open('/', { token: null });
    await page.getByLabel('Admin token').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The admin token is wrong').waitFor();
    await signIn(page, suite.standIn.token);
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect(await page.context().cookies()).toEqual([]);
    expect(page.url()).not.toContain(suite.standIn.token);
    expect(suite.standIn.paths.join('\n')).not.toContain(suite.standIn.token);
    const other = await page.context().newPage();
    await other.goto('/');
    await other.getByLabel('Admin token').waitFor();
  });

  it('is requested again after a refusal, on the page that was open', async () => {
    const page = await suite.open('/accounts');
    await page.getByRole('table', { name: 'Accounts' }).waitFor();
    const token = suite.standIn.token;
    suite.standIn.token = 'another-token-of-32-characters-or-more';
    try {
      await page.getByText('The admin token is wrong').waitFor();
      await page.getByLabel('Admin token').fill(suite.standIn.token);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { level: 1, name: 'Accounts' }).waitFor();
    } finally {
      suite.standIn.token = token;
    }
  });
});

describe('a person on call', () => {
  it('sees the last hour of a queue at once', async () => {
    const page = await suite.open('/queues');
    const line = page.getByRole('row', { name: /webhooks\/deliveries/ }).getByRole('img');
    // The maximum was half an hour ago, before this page was opened.
    await expect(line.getAttribute('aria-label')).resolves.toBe('Last hour: depth now 4,530, at most 9,044');
  });

  it('finds the endpoints of an account from a number of its deliveries', async () => {
    const page = await suite.open('/queues/webhooks/deliveries');
    await page
      .getByRole('row', { name: /^Contoso/ })
      .getByRole('link', { name: '14' })
      .click();
    const rows = page.getByRole('table', { name: 'Webhook endpoints' }).locator('tbody').getByRole('row');
    await rows.first().waitFor();
    await expect(rows.allInnerTexts()).resolves.toEqual([
      expect.stringContaining('contoso.example/hooks'),
      expect.stringContaining('old.contoso.example'),
    ]);
    // The list also shows how many deliveries of an endpoint wait for a retry.
    await page.goto('/#/endpoints');
    await page.getByRole('link', { name: '4,508, 3,308 retrying' }).waitFor();
  });

  it('sees the duration of a request, and that of its whole trace with the following webhooks', async () => {
    const page = await suite.open('/traces');
    const row = page.getByRole('row', { name: /^bookAppointment/ });
    await row.waitFor();
    const cells = await row.getByRole('cell').allInnerTexts();
    expect([cells[1]?.trim(), cells[3], cells[4]?.replace(/\s+/, ' ')]).toEqual(['201', '38 ms', 'error 5.37 s']);
    await page.getByLabel('Status').selectOption('error');
    await page.waitForRequest(/\/admin\/traces\?request_status=error/);
  });

  it('gets a link to traces in another system', async () => {
    const url = `https://traces.example/${id(9)}`;
    suite.standIn.state.elsewhere = `The trace is at ${url}`;
    const page = await suite.open(`/traces/${'0'.repeat(32)}`);
    await expect(page.getByRole('link', { name: url }).getAttribute('href')).resolves.toBe(url);
    delete suite.standIn.state.elsewhere;
  });

  it('loads more of a list by its cursor', async () => {
    const page = await suite.open('/accounts');
    const rows = page.getByRole('table', { name: 'Accounts' }).locator('tbody').getByRole('row');
    await rows.first().waitFor();
    expect(await rows.count()).toBe(1);
    await page.getByRole('button', { name: 'More' }).click();
    await rows.nth(1).waitFor();
    await page.getByRole('button', { name: 'More' }).waitFor({ state: 'detached' });
  });

  it('sees which addresses sent invalid keys, and what is gone', async () => {
    const page = await suite.open('/addresses');
    await page.getByRole('row', { name: /^203\.0\.113\.77 .* 48 / }).waitFor();
    await page.getByRole('link', { name: 'Services' }).click();
    await page.getByText('messaging does not respond: its processes are not listed').waitFor();
    await page.getByText('node-1, pid 4001').waitFor();
  });

  it('sees from where each key is used, and no actions for an ended key', async () => {
    const page = await suite.open(`/accounts/${northwind}`);
    const row = (name: RegExp) => page.getByRole('row', { name });
    await row(
      /^Website …x7Qa live .* 600\/min, burst 100 \(account’s\) Changed\? See audit 16,200 2,204 limited 203\.0\.113\.77, 198\.51\.100\.4 /,
    ).waitFor();
    await row(/^Shop …x7Qa live .* 60\/min, burst 10 12 192\.0\.2\.9 /).waitFor();
    await row(/ ended 15 min ago, still used$/).waitFor();
    expect(
      await row(/^Website/)
        .getByRole('button')
        .allInnerTexts(),
    ).toEqual(['Rotate', 'Revoke']);
    expect(await row(/^Shop/).getByRole('button').count()).toBe(0);
  });

  it('sees since when a channel fails, what waits for it, and who must fix it', async () => {
    const page = await suite.open('/');
    await page
      .getByRole('row', { name: /^Failing whatsapp/ })
      .getByRole('link', { name: 'Channel' })
      .click();
    const row = page.getByRole('row', {
      name: /^whatsapp whatsapp_cloud failing 2 h ago \([^)]{0,20}\d\d:\d\d:\d\d\)/,
    });
    await row.getByText('14 messages wait. After the customer sets up the channel again, waiting messages').waitFor();
  });

  it('gets from requests that a module refuses to the button that switches it on', async () => {
    const { state } = suite.standIn;
    const [, refused] = state.customers.accounts;
    state.customers.accounts = [{ ...refused!, reasons: ['modules'] }];
    const page = await suite.open('/');
    await page
      .getByRole('row', { name: /^Refused Northwind .*, mostly because a module is off/ })
      .getByRole('link', { name: 'Modules' })
      .click();
    await page.getByRole('button', { name: 'Switch on agents' }).click();
    await page.getByLabel('Reason').fill('switched off by mistake');
    const [request] = await Promise.all([
      page.waitForRequest((each) => each.method() === 'PATCH'),
      page.getByRole('dialog').getByRole('button', { name: 'Switch on' }).click(),
    ]);
    expect(request.postDataJSON()).toEqual({ modules: { agents: { on: true } }, reason: 'switched off by mistake' });
    await page.getByRole('status').getByText('Switched agents on for Northwind.').waitFor();
    Object.assign(state, stateOf());
  });

  it('sees the name of an account that is not among the newest', async () => {
    suite.standIn.state.dead[1]!.account = id(3);
    const page = await suite.open('/dead');
    await page.getByRole('link', { name: 'Fabrikam …00000003' }).waitFor();
    Object.assign(suite.standIn.state, stateOf());
  });

  it('sees how long ago an error was', async () => {
    const page = await suite.open();
    await page.getByRole('row', { name: /^Dead .*contact has no phone number, 1 h ago/ }).waitFor();
    await page.getByRole('row', { name: /^Failing .*HTTP 503, \d+ (s|min) ago, trace/ }).waitFor();
  });
});

describe('a dialog', () => {
  afterEach(() => {
    Object.assign(suite.standIn.state, stateOf());
  });

  it('describes what an action affects now, not when it was opened', async () => {
    const page = await suite.open('/queues/webhooks/deliveries');
    await page.getByRole('button', { name: 'Pause', exact: true }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Holds back 4,514 entries').waitFor();
    await page.getByLabel('Reason').fill('their server is down');
    suite.standIn.state.queues.find(({ queue }) => queue === 'deliveries')!.ready += 1_000;
    await dialog.getByText('Holds back 5,514 entries').waitFor();
    await expect(page.getByLabel('Reason').inputValue()).resolves.toBe('their server is down');
  });

  it('closes after its change with a toast, even if a source does not respond', async () => {
    const page = await suite.open('/queues/webhooks/deliveries');
    await page.getByRole('button', { name: 'Pause', exact: true }).first().click();
    await page.getByLabel('Reason').fill('their server is down');
    const { promise, resolve } = Promise.withResolvers<void>();
    suite.standIn.state.held.set('listEndpoints', promise);
    try {
      await page.getByRole('dialog').getByRole('button', { name: 'Pause', exact: true }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      const toast = page.getByRole('status').getByText('Paused webhooks/deliveries');
      await toast.waitFor();
      await page.getByRole('table', { name: 'Pauses' }).waitFor();
      await page.getByRole('button', { name: 'Dismiss' }).click();
      await toast.waitFor({ state: 'detached' });
    } finally {
      resolve();
    }
  });

  it('keeps a new key until Done, whatever closes other dialogs', async () => {
    const page = await suite.open('/accounts');
    await page.getByRole('link', { name: 'Northwind' }).click();
    await page.getByRole('button', { name: 'Rotate Website' }).click();
    await page.getByLabel('Overlap in seconds').fill('0');
    const { promise, resolve } = Promise.withResolvers<void>();
    suite.standIn.state.held.set('rotateKey', promise);
    const dialog = page.getByRole('dialog');
    const pressEsc = async () => {
      for (let count = 0; count < 3; count++) await page.keyboard.press('Escape');
    };
    try {
      await dialog.getByRole('button', { name: 'Rotate' }).click();
      await dialog.getByRole('button', { name: 'Working…' }).waitFor();
      await pressEsc();
    } finally {
      resolve();
    }
    await dialog.getByText(newKey).waitFor();
    await pressEsc();
    await page.mouse.click(4, 4);
    await page.goBack();
    await page.waitForURL(/#\/accounts$/);
    expect(await dialog.getByText(newKey).isVisible()).toBe(true);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await dialog.waitFor({ state: 'detached' });
  });

  it('sends the reason of a change if there is one', async () => {
    const { standIn } = suite;
    const page = await suite.open(`/endpoints/${id(33)}`);
    await page.getByText('Disabled: only failed for 5 days').waitFor();
    await page.getByRole('definition').getByText('HTTP 410 Gone').waitFor();
    expect(await page.getByRole('term').filter({ hasText: 'Failing for' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Replay' }).click();
    // The endpoint's missed events are older than the shorter periods.
    await expect(page.getByLabel('Events of the last').inputValue()).resolves.toBe('2591940');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Enable https://old.contoso.example/hook' }).click();
    await page.getByLabel('Reason').fill('their server is back');
    const [request] = await Promise.all([
      page.waitForRequest(`${standIn.url}/admin/endpoints/${id(33)}/enable`),
      page.getByRole('dialog').getByRole('button', { name: 'Enable' }).click(),
    ]);
    expect(request.postDataJSON()).toEqual({ reason: 'their server is back' });
    await page.getByRole('button', { name: 'Pause deliveries to https://old.contoso.example/hook' }).waitFor();
  });
});

describe('Ctrl-K', () => {
  const finder = (page: Page) => page.getByRole('combobox', { name: /^Account name/ });

  it.each([
    ['north', 'Account', 'Northwind', 'Northwind'],
    ['hooks/orders', 'Endpoint', 'https://contoso.example/hooks/orders', 'https://contoso.example/hooks/orders'],
    [id(90), 'Request', id(90), 'Trace of bookAppointment'],
    ['dead', 'Page', 'Dead events', 'Dead events'],
  ])('finds by %j, and Enter opens the result', async (text, kind, found, heading) => {
    const page = await suite.open('/traces');
    await page.getByRole('table', { name: 'Traces' }).waitFor();
    await page.keyboard.press('Control+k');
    await finder(page).fill(text);
    await page.getByRole('option').filter({ hasText: kind }).filter({ hasText: found }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  it('selects by arrow keys, says if nothing is found, and closes with Esc', async () => {
    const page = await suite.open();
    await page.getByRole('button', { name: /^Find/ }).click();
    const chosen = page.locator('[aria-selected="true"]');
    await page.keyboard.press('ArrowUp');
    await chosen.getByText('Audit').waitFor();
    await page.keyboard.press('ArrowDown');
    await chosen.getByText('Overview').waitFor();
    await finder(page).fill('no such thing');
    await page.getByText('Nothing found.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
});

describe('at its start', () => {
  it('replaces a language that Intl rejects with English', async () => {
    const script = `for (const [name, value] of [['language', 'en-US@posix'], ['languages', ['en-US@posix']]])
      Object.defineProperty(Navigator.prototype, name, { get: () => value, configurable: true });`;
    const page = await suite.open('/queues', { script });
    await page.locator('table.data canvas').first().waitFor();
    expect(await page.evaluate('navigator.language')).toBe('en');
  });

  it.each([
    ['a module', {}, `Object.defineProperty(window, 'Intl', { get() { throw new TypeError('no such thing'); } });`],
    ['the storage', {}, `Storage.prototype.getItem = () => { throw new TypeError('no such thing'); };`],
    [
      'the form for the token',
      { token: null },
      `const create = Document.prototype.createElement;
      Document.prototype.createElement = function (name, options) {
        if (name === 'form') throw new TypeError('no such thing');
        return create.call(this, name, options);
      };`,
    ],
    ['a page', {}, `Intl.NumberFormat = class { format() { throw new TypeError('no such thing'); } };`],
  ])('shows the error if %s throws, and reloads', async (_part, options, script) => {
    const page = await suite.open('/queues', { ...options, script });
    const alert = page.getByRole('alert').getByText('TypeError: no such thing');
    await alert.waitFor();
    await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Reload' }).click()]);
    await alert.waitFor();
  });
});

describe('the keyboard', () => {
  it('opens every page, and the help lists the keys', async () => {
    const page = await suite.open();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Help' });
    const keys = await help.locator('dt:has(kbd:nth-of-type(2))').allInnerTexts();
    const does = await help.locator('dt:has(kbd:nth-of-type(2)) + dd').allInnerTexts();
    const pairs = keys.map((pair, index) => `${pair.trim()} ${does[index]}`).filter((pair) => pair.startsWith('g'));
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'detached' });
    expect(pairs).toHaveLength(10);
    for (const pair of pairs.toReversed()) {
      const [first, second] = pair.trim().split(/\s+/) as [string, string];
      await page.keyboard.press(first);
      await page.keyboard.press(second);
      const label = pair.trim().split(/\s+/).slice(2).join(' ');
      await page
        .getByRole('heading', { level: 1, name: new RegExp(RegExp.escape(label.split(' ')[0]!), 'i') })
        .waitFor();
    }
  });

  it('stays in a dialog, and returns to the previous element after Esc', async () => {
    const page = await suite.open('/queues/webhooks/deliveries');
    const button = page.getByRole('button', { name: 'Retry', exact: true }).first();
    await button.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    for (let count = 0; count < 5; count++) {
      await page.keyboard.press('Tab');
      const focused = await page.evaluate<string>(
        'document.activeElement.closest("dialog") ? "in" : document.activeElement.tagName',
      );
      // Between the last and first control, the browser's own UI has the focus.
      expect(['in', 'BODY']).toContain(focused);
    }
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Retry');
  });
});
