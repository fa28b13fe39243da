import { describe, expect, it } from '@jest/globals';
import { readConverted, readWebPage } from './html.ts';

const paths = (html: string) => readWebPage(html).map(({ heading_path, text }) => [...heading_path, text]);
/** More elements than Readability is given: the page is read whole. */
const vast = '<i></i>'.repeat(15_001);
const filler = 'We deliver every day, also on Sundays, and by bike wherever it is possible. '.repeat(8).trim();

describe("a heading's level is its tag's", () => {
  it.each([
    ['read by its main text', ''],
    ['read whole', vast],
  ])('never what the page says, %s', (...[, more]) => {
    const html = `<!doctype html><title>T</title><body><main>
      <h1 data-heading-level="5">One</h1><p>${filler}</p><h2 data-heading-level="1">Two</h2><p>${filler}</p>
      <h3 data-heading-level="900">Three</h3><p data-heading-level="4">${filler}</p></main>${more}`;
    expect(paths(html)).toEqual([
      ['One', filler],
      ['One', 'Two', filler],
      ['One', 'Two', 'Three', filler],
    ]);
  });

  it('of a converted document as well', () => {
    expect(readConverted('<h2 data-heading-level="1">A</h2><p data-heading-level="2">b</p>')).toEqual([
      { heading_path: ['A'], text: 'b' },
    ]);
  });
});

it('reads a page whose elements are nested deeper than Readability can follow', () => {
  const html = `<!doctype html><title>T</title><body>${'<div>'.repeat(12_000)}${filler}${'</div>'.repeat(12_000)}`;
  expect(paths(html)).toEqual([['T', filler]]);
});
