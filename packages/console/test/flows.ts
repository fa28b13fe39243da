import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';

/** A request of an account whose event is delivered to a host. */
export interface Delivered {
  accountName: string;
  operation: string;
  host: string;
}

/** Returns a button of the dialog that is open. */
function inDialog(page: Page, name: string) {
  return page.getByRole('dialog').getByRole('button', { name, exact: true });
}

/** Confirms the open dialog's action, and returns what it says that it did. */
async function confirm(page: Page, button: string): Promise<string> {
  await inDialog(page, button).click();
  const result = await page.getByRole('dialog').getByRole('status').innerText();
  await inDialog(page, 'Done').click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  return result;
}

/** Signs in by the form. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Admin token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: /^Attention/ }).waitFor();
}

/** Pauses the queue of deliveries from its page, sees that Attention says so, and resumes it. */
export async function pauseAndResumeDeliveries(page: Page): Promise<void> {
  await page.keyboard.press('g');
  await page.keyboard.press('q');
  await page
    .getByRole('row', { name: /webhooks\/deliveries/ })
    .getByRole('link', { name: /deliveries/ })
    .first()
    .click();
  await page.getByRole('heading', { level: 1, name: 'webhooks/deliveries' }).waitFor();
  await page.getByRole('button', { name: 'Pause', exact: true }).first().click();
  await expect(page.getByRole('dialog').innerText()).resolves.toMatch(/Holds back [\d,]+ entr(?:y|ies)/);
  await page.getByLabel('Reason').fill('their server is down');
  expect(await confirm(page, 'Pause')).toContain('Paused webhooks/deliveries');
  await page.getByRole('table', { name: 'Pauses' }).getByText('their server is down').waitFor();
  await page.getByRole('link', { name: /^Attention/ }).click();
  await page
    .getByText(/The whole queue is paused by [^(]{1,80}\([^)]{0,40}\d\d:\d\d:\d\d\): “their server is down”/)
    .waitFor();
  await page
    .getByRole('row', { name: /^Paused/ })
    .getByRole('link', { name: /deliveries/ })
    .click();
  await page.getByRole('button', { name: 'Resume', exact: true }).first().click();
  expect(await confirm(page, 'Resume')).toContain('Resumed webhooks/deliveries');
  await page.getByRole('table', { name: 'Pauses' }).waitFor({ state: 'detached' });
}

/** Opens a dead event from Attention, reads its bytes as text and hex, and requeues it. */
export async function requeueDeadEvent(page: Page, shows: { text: string; hex: string }): Promise<void> {
  await page.getByRole('link', { name: /^Attention/ }).click();
  await page
    .getByRole('row', { name: /^Dead/ })
    .getByRole('link', { name: /dead events?$/ })
    .first()
    .click();
  const rows = page.getByRole('table', { name: 'Dead events' }).getByRole('row');
  await rows.nth(1).waitFor();
  const event = rows.nth(1).getByRole('link').first();
  const address = await event.getAttribute('href');
  await event.click();
  await page.getByText(shows.text).waitFor();
  await page.getByRole('button', { name: 'hex' }).click();
  await expect(page.locator('pre').innerText()).resolves.toContain(`000000  ${shows.hex}`);
  await page.getByRole('button', { name: 'Requeue' }).click();
  expect(await confirm(page, 'Requeue')).toMatch(/^Requeued 1 event/);
  await page.getByRole('heading', { level: 1, name: 'Dead events' }).waitFor();
  // What dies again is a new entry, under another address.
  await page.locator(`a[href="${address}"]`).first().waitFor({ state: 'detached' });
}

/** Makes a key, which is shown once, and revokes it. Returns the key. */
export async function makeAndRevokeKey(page: Page, accountName: string): Promise<string> {
  await page.getByRole('link', { name: 'Accounts' }).click();
  await page.getByRole('link', { name: accountName, exact: true }).click();
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByLabel('Name').fill('On call');
  await page.getByLabel('*', { exact: true }).check();
  await inDialog(page, 'Create key').click();
  const key = await page.getByRole('dialog').locator('code').innerText();
  expect(key).toMatch(/^cp_live_[0-9A-Za-z]{40}$/);
  await inDialog(page, 'Done').click();
  await page.getByRole('button', { name: 'Revoke On call' }).click();
  await expect(page.getByRole('dialog').innerText()).resolves.toContain(`ends in ${key.slice(-4)}`);
  expect(await confirm(page, 'Revoke')).toContain('Revoked the key “On call”');
  await page
    .getByRole('row', { name: /^On call/ })
    .filter({ hasText: 'revoked' })
    .waitFor();
  expect(await page.content()).not.toContain(key);
  return key;
}

/** Follows an account's deliveries to a trace that ends with a try of a webhook. */
export async function openTraceOfDelivery(page: Page, { accountName, operation, host }: Delivered): Promise<void> {
  await page.getByRole('link', { name: 'Queues' }).click();
  await page
    .getByRole('row', { name: /webhooks\/deliveries/ })
    .getByRole('link')
    .first()
    .click();
  await page
    .getByRole('row', { name: new RegExp(`^${RegExp.escape(accountName)}`) })
    .getByRole('link', { name: 'Traces' })
    .click();
  await page.getByLabel('Operation').fill(operation);
  await page.keyboard.press('Enter');
  await page.getByRole('table', { name: 'Traces' }).getByRole('link', { name: operation }).first().click();
  await page.getByRole('list', { name: 'Spans' }).waitFor();
  await page
    .getByRole('button', { name: /^webhooks POST/ })
    .last()
    .click();
  await page.getByText(host, { exact: true }).waitFor();
}

/** Follows the last failed try of a webhook from its endpoint to its trace. */
export async function openTraceOfFailure(page: Page, { operation }: { operation: string }): Promise<void> {
  await page.getByRole('link', { name: /^Attention/ }).click();
  await page
    .getByRole('row', { name: /^Failing/ })
    .locator('a[href*="endpoint="]')
    .click();
  const endpoints = page.getByRole('table', { name: 'Webhook endpoints' });
  await endpoints.getByRole('link', { name: 'trace', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: `Trace of ${operation}` }).waitFor();
  await page.getByRole('term').filter({ hasText: 'Errors' }).locator('..').getByRole('button').click();
  expect(await page.evaluate('document.activeElement.textContent')).toContain('error');
}
