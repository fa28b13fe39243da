import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { groups, type ListedPage, lastPages, referencePage, siteTitle } from './manifest.ts';
import { bodyFor, type Page, pathOf } from './pages.ts';

/** Writes each page as Markdown, and `llms.txt` (llmstxt.org), which lists the pages. Both are for assistants. */
export function writeMarkdown(dist: string, pages: readonly Page[]): void {
  for (const page of pages) writeFileSync(join(dist, page.file), markdownOf(page));
  writeFileSync(join(dist, 'llms.txt'), `${linesOfContents().join('\n')}\n`);
}

function markdownOf(page: Page): string {
  const body = bodyFor(page, '.md');
  // The generated page's anchors are not standard Markdown.
  const text = page.file === referencePage.file ? body.replaceAll(/^(##+ .*) \{ #[\w/]+ \}$/gm, '$1') : body;
  return `# ${page.heading}\n${text}`;
}

function linesOfContents(): string[] {
  const lineOf = (page: ListedPage) => `- [${page.title}](${pathOf(page.file, '.md')}): ${page.summary}`;
  return [
    `# ${siteTitle}`,
    '',
    '> One HTTP API for appointments, AI agents, customer data, orders, deals, messages and webhooks.',
    '',
    "Examples use https://api.example.com as this installation's address. Replace it with the address that served this file. A key that begins with `cp_test_` acts on a sandbox, from which no message leaves the platform.",
    ...groups.flatMap(({ label, pages }) => ['', `## ${label}`, '', ...pages.map(lineOf)]),
    '',
    '## Reference',
    '',
    lineOf(referencePage),
    '- [OpenAPI document](/v1/openapi.json): The reference for programs, OpenAPI 3.1.',
    '',
    '## Optional',
    '',
    ...lastPages.map(lineOf),
  ];
}
