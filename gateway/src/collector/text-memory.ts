/** Returns the bytes that a text takes in memory: V8 has two for each unit where one of them is not Latin-1. */
export function memoryOf(text: string): number {
  return text.length * (isLatin1(text) ? 1 : 2);
}

function isLatin1(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: every character of Latin-1, whatever it is
  return /^[\u0000-\u00ff]*$/.test(text);
}
