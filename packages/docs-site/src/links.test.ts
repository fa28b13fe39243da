import { expect, it } from '@jest/globals';
import { linksOf, withLinks } from './links.ts';

const text = `Read [webhooks](webhooks.md#verify-it) and [a text that
goes on](paging.md), or [below](#next). Not \`[code](a.md)\`, [elsewhere](https://example.com/x.md) or [the root](/llms.txt).

\`\`\`md
[code](b.md)
\`\`\`

![A picture](images/life.svg)

[errors]: errors.md
`;

it('finds every relative link outside code, with its line', () => {
  expect(linksOf(text)).toEqual([
    { target: 'webhooks.md#verify-it', file: 'webhooks.md', hash: '#verify-it', line: 1 },
    { target: 'paging.md', file: 'paging.md', hash: '', line: 2 },
    { target: '#next', file: '', hash: '#next', line: 2 },
    { target: 'images/life.svg', file: 'images/life.svg', hash: '', line: 8 },
    { target: 'errors.md', file: 'errors.md', hash: '', line: 10 },
  ]);
});

it('changes only targets', () => {
  expect(withLinks(text, ({ target }) => target)).toBe(text);
  expect(withLinks(text, ({ target }) => `/docs/${target}`)).toContain(
    'goes on](/docs/paging.md), or [below](/docs/#next)',
  );
});
