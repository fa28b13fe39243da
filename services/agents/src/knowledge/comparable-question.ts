/** A question as it is compared: in lower case, its words with one space between them and without punctuation. */
export function comparableQuestion(text: string): string {
  const words = text
    .normalize('NFKC')
    .toLowerCase()
    .match(/[\p{L}\p{M}\p{N}]+/gu);
  return words === null ? '' : words.join(' ');
}
