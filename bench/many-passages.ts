/** Number of words, with frequencies as in a language: the n-th is half as frequent as the one at n ÷ 2. */
const vocabularySize = 50_000;
const wordsOfPassage = 120;
const syllables = ['ba', 'co', 'di', 'fu', 'ge', 'la', 'mo', 'ni', 'pe', 'ru', 'sa', 'te', 'vo', 'wi', 'za', 'ka'];

/** Returns a seeded generator of numbers from 0 to 1, the same in every run. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Returns the word of a rank: all differ, and none is an inflection of another. */
function wordOf(rank: number): string {
  let word = '';
  for (let rest = rank + 4_096; rest > 0; rest >>= 4) word += syllables[rest & 15];
  return `${word}x`;
}

const cumulative = new Float64Array(vocabularySize);
for (let rank = 0, sum = 0; rank < vocabularySize; rank++) {
  sum += 1 / (rank + 1);
  cumulative[rank] = sum;
}

/** Returns a random word by its frequency. */
function someWord(random: () => number): string {
  const target = random() * cumulative[vocabularySize - 1]!;
  let [low, high] = [0, vocabularySize - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (cumulative[middle]! < target) low = middle + 1;
    else high = middle;
  }
  return wordOf(low);
}

/** Returns a Markdown document of passages of 120 words, each under its own heading. */
export function someDocument(number: number, passages: number): string {
  const random = randomNumbers(number + 1);
  const words = (count: number) => Array.from({ length: count }, () => someWord(random)).join(' ');
  return Array.from({ length: passages }, () => `# ${words(2)}\n\n${words(wordsOfPassage)}\n\n`).join('');
}

/** Returns queries of 3 to 12 words: of common words, of rare ones, of both, and with words that occur nowhere. */
export function someQueries(count: number): string[] {
  const random = randomNumbers(4_711);
  const rank = (from: number, to: number) => wordOf(from + Math.floor(random() * (to - from)));
  const kinds = [
    () => rank(0, 30),
    () => rank(5_000, vocabularySize),
    () => (random() < 0.5 ? rank(0, 30) : rank(1_000, vocabularySize)),
    () => (random() < 0.3 ? `nobody${Math.floor(random() * 1e6)}` : someWord(random)),
  ];
  return Array.from({ length: count }, (_, index) =>
    Array.from({ length: 3 + Math.floor(random() * 10) }, kinds[index % kinds.length]!).join(' '),
  );
}
