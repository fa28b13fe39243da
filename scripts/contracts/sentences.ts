import type { Gap } from './gap.ts';

/** The side that changed, and the one that is still of the release before. */
export interface Parties {
  /** The side that is new: the one that takes, or the one that sends. */
  changed: 'taker' | 'sender';
  /** The other side: `clients of 1.0.0`. */
  others: string;
}

/** Returns what broke and what would be right, as a sentence behind the place. */
export function sentenceOf(gap: Gap, { changed, others }: Parties): string {
  return changed === 'taker' ? refusal(gap, others) : novelty(gap, others);
}

/** For a value that was taken before and is not any more. */
function refusal({ kind, sent, taken }: Gap, others: string): string {
  switch (kind) {
    case 'missing': {
      const left = sent === 'nothing' ? 'send none' : 'may leave it out';
      return `is required now; ${others} ${left}: make it optional, or take what is missing for a default`;
    }
    case 'unknown':
      return `is not taken any more; ${others} send ${sent === 'any keys' ? 'any key' : 'it'}: keep taking it`;
    case 'value':
    case 'variant':
      return `does not take ${sent} any more; ${others} send it: keep taking it`;
    case 'bound':
      return `takes ${taken} now; ${others} send ${sent}: keep the bound of before`;
    case 'opaque':
      return `has ${taken} now, which cannot be compared with that of ${others}: keep what it was`;
    default:
      return `takes ${taken} now; ${others} send ${sent}: keep taking that too`;
  }
}

/** For a value that is sent now and was not before. */
function novelty({ kind, sent, taken }: Gap, others: string): string {
  switch (kind) {
    case 'missing': {
      const left = sent === 'nothing' ? 'is gone' : 'may be missing now';
      return `${left}; ${others} need it: keep sending it`;
    }
    case 'unknown':
      return `is new; ${others} refuse keys that they do not know: leave it out`;
    case 'value':
      return `may be ${sent} now; ${others} know ${taken}: say it in a new field, or release a new major version`;
    case 'variant':
      return `may be ${sent} now; ${others} know ${taken}: send it in a new field`;
    case 'bound':
      return `may be of ${sent} now; ${others} take ${taken}: keep the bound of before`;
    case 'opaque':
      return `has ${sent} now, which cannot be compared with that of ${others}: keep what it was`;
    default:
      return `may be ${sent} now; ${others} take ${taken}: keep sending that, and the new in a field of its own`;
  }
}
