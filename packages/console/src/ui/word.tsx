import { type Word, words } from '../language.ts';

/** A term with its meaning as a tooltip on hover and focus. `children` replaces the shown text. */
export function Term({ word, children }: { word: Word; children?: string }) {
  return <Hint text={children ?? word} meaning={words[word]} />;
}

/** A text with an explanation as a tooltip on hover and focus. */
export function Hint({ text, meaning }: { text: string; meaning: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users need the focus to see the tooltip
    <span className="word" tabIndex={0} data-tip={meaning} aria-description={meaning}>
      {text}
    </span>
  );
}

/** A colored label for a state. With `word`, the term's meaning is the title. */
export function Tag({ kind, word, children }: { kind?: 'bad' | 'warn' | 'good'; word?: Word; children: string }) {
  return (
    <span className={kind ? `tag ${kind}` : 'tag'} title={word && words[word]}>
      {children}
    </span>
  );
}
