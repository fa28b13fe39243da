import { join } from 'node:path';
import { startBrowser } from './browser.ts';
import { northwind } from './fixtures.ts';
import { startStandIn } from './stand-in.ts';

// Takes the screenshots of docs/images from the built console, with the tests' fixtures.

const folder = join(import.meta.dirname, '../../../docs/images');
const pictures = [
  { file: 'console-overview.png', path: '/', shows: 'table.data', height: 720, scheme: 'light' },
  { file: 'console-account.png', path: `/accounts/${northwind}`, shows: 'table.data', height: 720, scheme: 'dark' },
] as const;

const standIn = await startStandIn();
const browser = await startBrowser();
try {
  // One problem of each kind would be unrealistic.
  standIn.state.gone = [];
  standIn.state.processes = standIn.state.processes.filter(({ waiting_for }) => waiting_for === null).slice(0, -1);
  for (const { file, path, shows, height, scheme } of pictures) {
    const page = await browser.open(standIn.url, { path, token: standIn.token, scheme });
    await page.setViewportSize({ width: 1_280, height });
    await page.locator(shows).first().waitFor();
    // Account names load after the rows.
    await page.waitForLoadState('networkidle');
    await page.screenshot({ path: join(folder, file) });
  }
} finally {
  await browser.close();
  await standIn.close();
}
