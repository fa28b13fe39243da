// Guides use https://api.example.com as the platform's address. Readers see and copy the address of their own platform.
const placeholder = 'https://api.example.com';

/** Replaces the address in an element, even if syntax highlighting splits it into several text nodes. */
function replaceIn(element) {
  const start = element.textContent.indexOf(placeholder);
  if (start === -1) return;
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let before = start;
  let rest = placeholder.length;
  while (rest > 0 && texts.nextNode()) {
    const text = texts.currentNode;
    const { length } = text;
    const count = Math.min(length - before, rest);
    if (count > 0) {
      text.replaceData(before, count, rest === placeholder.length ? location.origin : '');
      rest -= count;
    }
    before = Math.max(before - length, 0);
  }
  replaceIn(element);
}

if (location.origin !== placeholder) {
  for (const code of document.querySelectorAll('code')) replaceIn(code);
  for (const { dataset } of document.querySelectorAll('button[data-code]'))
    dataset.code = dataset.code.replaceAll(placeholder, location.origin);
}
