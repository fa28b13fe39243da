import { join } from 'node:path';
import { startBrowser } from './browser.ts';
import { startStandIn } from './stand-in.ts';
import { traceId } from './trace-fixture.ts';

// Takes the pictures of docs/images from the built console, with the fixtures of its tests.

const folder = join(import.meta.dirname, '../../../docs/images');
const pictures = [
  { file: 'console-attention.png', path: '/', shows: 'table.data', height: 420 },
  { file: 'console-queues.png', path: '/queues', shows: 'table.data canvas', height: 860 },
  {
    file: 'console-trace.png',
    path: `/traces/${traceId}`,
    shows: '.waterfall',
    height: 460,
    scheme: 'dark',
    opens: '.waterfall .tag.bad',
  },
] as const;

const standIn = await startStandIn();
const browser = await startBrowser();
try {
  for (const { file, path, shows, height, ...options } of pictures) {
    const scheme = 'scheme' in options ? options.scheme : 'light';
    const page = await browser.open(standIn.url, { path, token: standIn.token, scheme });
    await page.setViewportSize({ width: 1_280, height });
    await page.locator(shows).first().waitFor();
    // Names of accounts come after the rows.
    await page.waitForLoadState('networkidle');
    if ('opens' in options) await page.locator(options.opens).first().click();
    await page.screenshot({ path: join(folder, file) });
  }
} finally {
  await browser.close();
  await standIn.close();
}
