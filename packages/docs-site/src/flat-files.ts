import { globSync, readdirSync, renameSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Moves each page from `quickstart/index.html` to `quickstart.html`. Astro can write the second form, but then adds `.html` to every
 * link and search result.
 */
export function flattenPages(dist: string): void {
  for (const file of globSync('*/index.html', { cwd: dist })) {
    const folder = join(dist, dirname(file));
    renameSync(join(dist, file), `${folder}.html`);
    if (readdirSync(folder).length === 0) rmdirSync(folder);
  }
}
