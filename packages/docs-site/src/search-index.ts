import { rmSync } from 'node:fs';
import { join } from 'node:path';
import * as pagefind from 'pagefind';
import { readDocument } from './api-document.ts';
import { type Section, sectionsOf } from './api-reference.ts';
import { referencePage } from './manifest.ts';

/**
 * Writes the search index anew, with an entry for each operation of the reference. Starlight's own has the whole reference as one page, of
 * which a search shows three headings at most.
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

/** Returns what is searched of an operation. Its method and path are shown first. */
function recordOf({ operation, text }: Section) {
  const { operationId, summary, 'x-client-name': clientName } = operation;
  return {
    url: `/${referencePage.file.replace(/\.md$/, '')}#${operationId}`,
    content: `${summary}. ${text.replaceAll(/[`*]/g, '')}`,
    language: 'en',
    meta: { title: summary, keywords: `${operationId} ${clientName}` },
  };
}

/** Returns an answer of Pagefind, which reports failures in a list. */
function checked<T extends { errors: string[] }>(answer: T): T {
  if (answer.errors.length > 0) throw new Error(`The search index was not written: ${answer.errors.join('; ')}`);
  return answer;
}
