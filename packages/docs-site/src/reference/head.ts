/** What the head of the reference's page has besides that of every page. The gateway puts a nonce into each response in place of its name. */
export const referenceHead = [
  { tag: 'meta', attrs: { property: 'csp-nonce', content: '{csp-nonce}' } },
  { tag: 'link', attrs: { rel: 'stylesheet', href: '/docs/reference/reference.css' } },
  { tag: 'script', attrs: { type: 'module', src: '/docs/reference/start.js' } },
] as const;
