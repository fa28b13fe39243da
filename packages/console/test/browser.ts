import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium as launcher, type Page } from 'playwright-core';
import { unpackedBrowser } from './unpacked-browser.ts';

/** A headless browser for the tests. */
export interface TestBrowser {
  /**
   * Opens a page in a new session, and closes the last one, since this build of the browser supports only one. `path` is a
   * path of the console, such as `/queues`. Without `token`, the page shows the sign-in form.
   */
  open(url: string, options?: PageOptions): Promise<Page>;
  close(): Promise<void>;
}

export interface PageOptions {
  path?: string;
  token?: string;
  scheme?: 'light' | 'dark';
  width?: number;
  /** A script that the page runs before its own. */
  script?: string;
}

/** Deadline of every wait in a page, in milliseconds. */
const waitMs = 60_000;

/** Starts the browser of an npm package, so that the tests need no installed browser. */
export async function startBrowser(): Promise<TestBrowser> {
  const profile = await mkdtemp(join(tmpdir(), 'console-browser-'));
  const browser: Browser = await launcher.launch({
    executablePath: await unpackedBrowser(),
    // The browser's sandbox cannot start as root. The tests load only our own pages.
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', `--disk-cache-dir=${profile}`],
    timeout: 60_000,
  });
  let last: BrowserContext | undefined;
  return {
    async open(url, { path = '/', token, scheme = 'light', width = 1280, script } = {}) {
      await last?.close();
      const context = await browser.newContext({
        baseURL: url,
        colorScheme: scheme,
        viewport: { width, height: 800 },
        locale: 'en-GB',
        timezoneId: 'UTC',
      });
      last = context;
      context.setDefaultTimeout(waitMs);
      if (token !== undefined) {
        const script = `sessionStorage.getItem('console.token') ?? sessionStorage.setItem('console.token', ${JSON.stringify(token)});`;
        await context.addInitScript(script);
      }
      if (script !== undefined) await context.addInitScript(script);
      const page = await context.newPage();
      await page.goto(`/#${path}`);
      return page;
    },
    async close() {
      await browser.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}

/** Signs in with the form. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Admin token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
}
