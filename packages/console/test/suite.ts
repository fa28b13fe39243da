import { afterAll, beforeAll } from '@jest/globals';
import type { Page } from 'playwright-core';
import { type PageOptions, startBrowser, type TestBrowser } from './browser.ts';
import { type StandIn, startStandIn } from './stand-in.ts';

/** A browser and a stand-in for a test file. */
export interface Suite {
  /** The control plane. Read it only in tests, after it has started. */
  readonly standIn: StandIn;
  /** Opens a page of the console, signed in unless `token` is null. */
  open(path?: string, options?: Omit<PageOptions, 'path' | 'token'> & { token?: string | null }): Promise<Page>;
}

/** Starts a browser and a stand-in before a file's tests, and stops both afterwards. */
export function startSuite(): Suite {
  let browser: TestBrowser | undefined;
  let standIn: StandIn | undefined;
  beforeAll(async () => {
    standIn = await startStandIn();
    browser = await startBrowser();
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await standIn?.close();
  });
  return {
    get standIn() {
      return standIn!;
    },
    async open(path = '/', { token = standIn!.token, ...options } = {}) {
      return await browser!.open(standIn!.url, { path, ...options, ...(token === null ? {} : { token }) });
    },
  };
}
