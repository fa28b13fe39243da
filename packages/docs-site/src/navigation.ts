import type { StarlightUserConfig } from '@astrojs/starlight/types';
import { readDocument } from './api-document.ts';
import { groups, type ListedPage, lastPages, referencePage } from './manifest.ts';

type Entries = NonNullable<StarlightUserConfig['sidebar']>;

/** Returns the navigation: the guides by group, the operations by group, and the changelog. */
export function navigation(): Entries {
  const document = readDocument();
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const chapters = document.tags.map(({ name, 'x-displayName': label }) => {
    const own = operations.filter(({ tags }) => tags[0] === name);
    const links = own.map(({ summary, operationId }) => ({ label: summary, link: `/reference#${operationId}` }));
    return { label, collapsed: true, items: links };
  });
  return [
    ...groups.map(({ label, pages }) => ({ label, items: pages.map(entryOf) })),
    { label: 'Reference', items: [entryOf(referencePage), ...chapters] },
    ...lastPages.map(entryOf),
  ];
}

const entryOf = ({ file, title }: ListedPage) => ({
  label: title,
  slug: file === 'index.md' ? '' : file.replace(/\.md$/, ''),
});
