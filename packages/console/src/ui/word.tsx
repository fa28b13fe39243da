import { type Word, words } from '../language.ts';

/** A word with its meaning, which shows when it is pointed at or has the focus. `children` is another form of it. */
export function Term({ word, children }: { word: Word; children?: string }) {
  return <Hint text={children ?? word} meaning={words[word]} />;
}

/** A text with what it means, shown likewise. */
export function Hint({ text, meaning }: { text: string; meaning: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the meaning shows on focus, for who has no pointer
    <span className="word" tabIndex={0} data-tip={meaning} aria-description={meaning}>
      {text}
    </span>
  );
}

/** What is wrong with something, or that nothing is; with the meaning where the word has one. */
export function Tag({ kind, word, children }: { kind?: 'bad' | 'warn' | 'good'; word?: Word; children: string }) {
  return (
    <span className={kind ? `tag ${kind}` : 'tag'} title={word && words[word]}>
      {children}
    </span>
  );
}
