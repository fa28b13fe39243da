import { describe, expect, it } from '@jest/globals';
import { readConverted, readWebPage } from './html.ts';

const paths = (html: string) => readWebPage(html).map(({ heading_path, text }) => [...heading_path, text]);
/** More elements than the limit for Readability, so that the whole body is read. */
const vast = '<i></i>'.repeat(15_001);
const filler = 'We deliver every day, also on Sundays, and by bike wherever it is possible. '.repeat(8).trim();

describe('the level of a heading comes from its tag', () => {
  it.each([
    ['read by its main text', ''],
    ['read whole', vast],
  ])("not from the page's attributes, %s", (...[, more]) => {
    const html = `<!doctype html><title>T</title><body><main>
      <h1 data-heading-level="5">One</h1><p>${filler}</p><h2 data-heading-level="1">Two</h2><p>${filler}</p>
      <h3 data-heading-level="900">Three</h3><p data-heading-level="4">${filler}</p></main>${more}`;
    expect(paths(html)).toEqual([
      ['One', filler],
      ['One', 'Two', filler],
      ['One', 'Two', 'Three', filler],
    ]);
  });

  it('in a converted document as well', () => {
    expect(readConverted('<h2 data-heading-level="1">A</h2><p data-heading-level="2">b</p>')).toEqual([
      { heading_path: ['A'], text: 'b' },
    ]);
  });
});

describe('content that a page hides until a click is read', () => {
  const answer = 'Yes, by bicycle.';
  const heading = '<h1>FAQ</h1>';
  const hidden = [
    ['by its style', `<div class=q>Do you deliver?</div><div style="display:none">${answer}</div>`],
    ['by the hidden attribute', `<h2>Do you deliver?</h2><p hidden>${answer}</p>`],
    ['until it is found', `<h2>Do you deliver?</h2><div hidden="until-found">${answer}</div>`],
    ['in details', `<details><summary>Do you deliver?</summary>${answer}</details>`],
    ['after a noscript', `<h2>Do you deliver?</h2><noscript>${answer}</noscript><p hidden>${answer}</p>`],
    [
      'in a page with the class of a banner',
      `<div class="page has-cookie-banner"><main><h2>Do you deliver?</h2><p hidden>${answer}</p></main></div>`,
    ],
    ['from screen readers', `<h3>Do you deliver?</h3><div aria-hidden="true"><p>${answer}</p></div>`],
    [
      'below a button in a heading',
      `<h3><button aria-expanded="false">Do you deliver?</button></h3><div hidden>${answer}</div>`,
    ],
    ['below a question', `<button>Do you deliver?</button><div style="visibility: hidden; height: 0">${answer}</div>`],
    ['in a list', `<dl><dt><button type=button>Do you deliver?</button></dt><dd class="hidden">${answer}</dd></dl>`],
    [
      'in a panel of a tab',
      `<button role=tab>Do you deliver?</button><div role=tabpanel style="color:red;DISPLAY : none!important">${answer}</div>`,
    ],
  ] as const;
  const article = `<main><h1>Tea</h1>${`<p>${filler}</p>`.repeat(5)}</main>`;

  it.each(hidden)('%s, alone in a page, after a text, and next to an article', (_, html) => {
    for (const around of [
      html,
      `${heading}<p>${filler}</p>${html}`,
      `${article}<section class="faq"><div>${html}</div></section>`,
    ]) {
      const text = JSON.stringify(paths(`<!doctype html><body>${around}</body>`));
      expect([around, text.split('Do you deliver?').length, text.split(answer).length]).toEqual([around, 2, 2]);
    }
  });

  it('in Japanese and Arabic, with its question as its heading', () => {
    const html = `<h3><button aria-controls=a>配達はありますか？</button></h3><div id=a hidden><p>はい、自転車で。</p></div>
      <h3><button aria-controls=b>هل توصلون؟</button></h3><div id=b hidden><p>نعم، بالدراجة.</p></div>`;
    const pieces = [
      ['FAQ', '配達はありますか？', 'はい、自転車で。'],
      ['FAQ', 'هل توصلون؟', 'نعم، بالدراجة.'],
    ];
    expect(paths(`<!doctype html><body>${heading}${html}</body>`)).toEqual(pieces);
  });

  it('but not scripts, menus, dialogs, decoration or buttons that do something', () => {
    const out = [
      '<script>OUT</script><style>OUT{}</style><template><p>OUT</p></template><noscript><p>OUT</p></noscript>',
      `<div id="cookie-banner" style="display:none"><p>OUT ${filler}</p><button>OUT</button></div>`,
      `<nav hidden><p>OUT ${filler}</p></nav><div role=dialog hidden><p>OUT ${filler}</p></div>`,
      '<div class="drawer" hidden><ul><li><a href=/a>OUT</a></li><li><a href=/b>OUT</a></li></ul></div>',
      '<button>OUT</button><i aria-hidden="true">OUT</i>',
    ].join('');
    const html = `<!doctype html><body>${out}<main>${heading}<p>${filler}</p>${out}<p>${filler}</p></main></body>`;
    expect(paths(html)).toEqual([
      ['FAQ', filler],
      ['FAQ', filler],
    ]);
  });
});

it('reads a page whose elements are nested more deeply than Readability can handle', () => {
  const html = `<!doctype html><title>T</title><body>${'<div>'.repeat(12_000)}${filler}${'</div>'.repeat(12_000)}`;
  expect(paths(html)).toEqual([['T', filler]]);
});
