// Guides write https://api.example.com for the platform's address. A reader sees the address under which they read, and copies it too.
const placeholder = 'https://api.example.com';
const inPlace = (text) => text.replaceAll(placeholder, location.origin);

for (const code of document.querySelectorAll('code')) {
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = inPlace(texts.currentNode.data);
}
for (const button of document.querySelectorAll('button[data-code]')) button.dataset.code = inPlace(button.dataset.code);
