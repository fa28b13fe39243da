import { rmSync } from 'node:fs';
import { join } from 'node:path';
import * as pagefind from 'pagefind';
import { readDocument } from './api-document.ts';
import { type Section, sectionsOf } from './api-reference.ts';
import { referencePage } from './manifest.ts';

/**
 * Rewrites the search index with an entry for each operation of the reference. Starlight's index has the reference as one page, of
 * which a search shows at most three headings.
 */
export async function writeSearchIndex(dist: string): Promise<void> {
  const folder = join(dist, 'pagefind');
  try {
    const { index } = checked(await pagefind.createIndex());
    checked(await index!.addDirectory({ path: dist }));
    for (const section of sectionsOf(readDocument())) checked(await index!.addCustomRecord(recordOf(section)));
    rmSync(folder, { recursive: true });
    checked(await index!.writeFiles({ outputPath: folder }));
  } finally {
    await pagefind.close();
  }
}

/** Returns the search record of an operation. Its method and path come first. */
function recordOf({ operation, text }: Section) {
  const { operationId, summary, 'x-client-name': clientName } = operation;
  return {
    url: `/${referencePage.file.replace(/\.md$/, '')}#${operationId}`,
    content: `${summary}. ${text.replaceAll(/[`*]/g, '')}`,
    language: 'en',
    meta: { title: summary, keywords: `${operationId} ${clientName}` },
  };
}

/** Returns a response of Pagefind. Throws if it lists errors. */
function checked<T extends { errors: string[] }>(answer: T): T {
  if (answer.errors.length > 0) throw new Error(`Pagefind cannot write the search index: ${answer.errors.join('; ')}`);
  return answer;
}
