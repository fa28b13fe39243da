/** Additional head elements of the reference page. The gateway replaces `{csp-nonce}` with a nonce in each response. */
export const referenceHead = [
  { tag: 'meta', attrs: { property: 'csp-nonce', content: '{csp-nonce}' } },
  { tag: 'link', attrs: { rel: 'stylesheet', href: '/docs/reference/reference.css' } },
  { tag: 'script', attrs: { type: 'module', src: '/docs/reference/start.js' } },
] as const;
