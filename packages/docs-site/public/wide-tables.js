// A table that is wider than the page scrolls by itself. A tabindex then makes it reachable by keyboard.
const mark = (table) => {
  if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
  else table.removeAttribute('tabindex');
};
const resized = new ResizeObserver((entries) => {
  for (const { target } of entries) mark(target);
});
for (const table of document.querySelectorAll('.sl-markdown-content table')) {
  mark(table);
  resized.observe(table);
}
