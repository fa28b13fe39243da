/** Parts of a file: names of code and of files (split into lower-case words), comments, sentences that code holds, and documents. */
export type Part = 'names' | 'paths' | 'comments' | 'messages' | 'docs';

/** A word that we do not use. */
export interface Word {
  /** As it is spoken of. */
  word: string;
  /** Is held against lower-case text; global. */
  pattern: RegExp;
  /** Parts in which it is not used. */
  parts: Part[];
  /** Files in which it is not used; all where there is none. */
  files?: RegExp;
  /** What is written in its stead. */
  instead: string;
}

const prose: Part[] = ['comments', 'messages', 'docs'];

/** Words that are private to this code, or mean too many things in it. */
export const vocabulary: Word[] = [
  {
    word: 'answer',
    // The answer of a FAQ is the API's word, and agents answer from sources.
    pattern: /(?<!\b(?:faq|exact) )\banswer(?:s|ed|ing|er|ers)?\b(?! from\b|[ _]exactly\b)/g,
    parts: ['names', 'paths', ...prose],
    instead: 'response (HTTP), reply (internal request), completion (AI), handle (a request), returns',
  },
  {
    word: 'What, Who, How, Whether first',
    pattern: /^\*\s*(?:what|who|whose|whom|how|whether|where|when|which|under which|of which)\b/g,
    parts: ['comments'],
    instead: 'a verb, such as "Returns whether", or the noun that it is',
  },
  { word: 'anew', pattern: /\banew\b/g, parts: ['names', ...prose], instead: 'again' },
  {
    word: 'away',
    pattern: /\b(?:is|are|was|were|be|been|being|redis|nats|postgresql|database|bus|module|service) away\b/g,
    parts: ['names', ...prose],
    instead: 'unavailable',
  },
  {
    word: 'so often, how late',
    pattern: /\b(?:so often|how late)\b/g,
    parts: prose,
    instead: 'attempts, poll interval, lease or deadline',
  },
  {
    word: 'undone',
    pattern: /\bundone\b/g,
    parts: ['names', ...prose],
    // Elsewhere it is the API's word: merges are undone.
    files: /^packages\/service-kit\//,
    instead: 'retried after a deadlock or serialization failure',
  },
  { word: 'merged one', pattern: /\bmerged one\b/g, parts: prose, instead: 'the surviving contact, if merged' },
  { word: '-under-test', pattern: /-under-test\.ts$/g, parts: ['paths'], instead: 'a fixture in test/ beside src/' },
  {
    word: 'place',
    pattern: /\bplaces?\b/g,
    parts: ['names', 'paths'],
    files: /\/(?:crm|agents)\//,
    instead: 'stage reference',
  },
  {
    word: 'taken key',
    pattern: /\btaken[ _-]keys?\b|\bis taken\b/g,
    parts: ['names', 'paths', 'messages'],
    files: /\/(?:crm|catalogue)\//,
    instead: 'processed key',
  },
  {
    word: 'opening',
    pattern: /\bopenings?\b/g,
    parts: ['names', 'comments', 'messages'],
    files: /\/crm\//,
    instead: 'default-pipeline marker',
  },
  {
    word: 'neighbour',
    pattern: /\bneighbours?\b/g,
    parts: ['names', 'comments'],
    files: /\.sql\.ts$/,
    instead: 'joins',
  },
  {
    word: 'standing',
    pattern: /\bstandings?\b/g,
    parts: ['names', 'comments'],
    files: /^gateway\/src\/rate\//,
    instead: 'bucket state',
  },
  {
    word: 'way',
    pattern: /(?<!\bunder )\bways?\b/g,
    parts: ['names'],
    files: /^gateway\//,
    instead: 'upstream',
  },
  {
    word: 'turn, share, large body',
    pattern: /\bturns?\b|\bshares?\b|\blarge bodies\b/g,
    parts: ['names', 'paths'],
    files: /^(?:packages\/service-kit|services\/agents|gateway)\//,
    instead: 'fair semaphore and its permits',
  },
  {
    word: 'outside',
    pattern: /^outside$|\boutside (?:once|work|call|needed)\b|\/outside\.ts$/g,
    parts: ['names', 'paths'],
    files: /^(?:packages\/service-kit|services)\//,
    instead: 'prefetch',
  },
  {
    word: 'flip',
    pattern: /\b(?:audience_)?flip(?:s|ped)?\b/g,
    parts: ['names', 'comments', 'messages'],
    files: /\/cdp\//,
    instead: 'scheduled re-evaluation',
  },
  {
    word: 'libraries, words, worths',
    pattern: /\blibraries\b|\bwords\b|\bworths?\b/g,
    parts: ['names'],
    files: /^services\/agents\/src\/knowledge\//,
    instead: 'corpus stats, document frequencies, weights',
  },
  {
    word: 'sight, sweep, reach',
    pattern: /\bsights?\b|\bsweeps?\b|\breach\b/g,
    parts: ['names', 'comments'],
    files: /^services\/calendar\//,
    instead: 'availability, cursor',
  },
  {
    word: 'delivery of the bus',
    pattern: /\bdeliver(?:y|ies)\b/g,
    parts: ['names'],
    files: /^packages\/service-kit\//,
    instead: 'message: a delivery is of a webhook',
  },
  {
    word: 'delivery/',
    pattern: /^services\/webhooks\/src\/delivery\//g,
    parts: ['paths'],
    instead: 'sending/ beside deliveries/',
  },
];
