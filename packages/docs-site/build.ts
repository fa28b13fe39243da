import { appendFileSync, copyFileSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packClient, packPythonClient } from './src/client-archives.ts';
import { writeContentPolicy } from './src/content-policy.ts';
import { copyReference } from './src/copy-reference.ts';
import { flattenPages } from './src/flat-files.ts';
import { writeMarkdown } from './src/markdown-pages.ts';
import { docs, readPages, root } from './src/pages.ts';
import { writeSearchIndex } from './src/search-index.ts';

/** Builds the site into `dist`: pages, search, pages as Markdown, and the packed clients. Needs no network. */
const dist = join(import.meta.dirname, 'dist');

// Read first, so that a missing page ends the build with one sentence.
const pages = readPages();
// Astro reads this variable on import.
process.env.ASTRO_TELEMETRY_DISABLED = '1';
const { build } = await import('astro');
await build({ root: import.meta.dirname, logLevel: 'error' });
await writeSearchIndex(dist);
flattenPages(dist);
await copyReference(dist);
writeContentPolicy(dist);
writeMarkdown(dist, pages);
// Vite writes the licenses of bundled packages. These scripts are not bundled, so their licenses are appended.
for (const [name, file] of [
  ['@scalar/fastify-api-reference', 'LICENSE'],
  ['@expressive-code/plugin-frames', 'LICENSE'],
  ['pagefind', 'LICENSE/LICENSE'],
] as const) {
  const text = readFileSync(join(root, 'node_modules', name, file), 'utf8');
  appendFileSync(join(dist, 'licenses.md'), `\n## ${name}\n\n${text}`);
}
mkdirSync(join(dist, 'images'), { recursive: true });
for (const file of globSync('images/*.svg', { cwd: docs })) copyFileSync(join(docs, file), join(dist, file));
packClient(dist);
await packPythonClient(dist);
