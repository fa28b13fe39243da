import type { Command } from './command.ts';
import { helpOption, jsonOption, tool } from './usage.ts';

/** Shells that have a script of completion. */
export const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/** What may follow words of a command: texts to choose from, each with what it is for, and files. */
interface Place {
  /** The words before, with the tool's name left out; the last is a flag where its value follows. */
  after: readonly string[];
  /** It is only at the beginning of the arguments, not between any of them. */
  isFirst: boolean;
  choices: readonly (readonly [text: string, summary: string])[];
  hasFiles?: boolean;
}

/** Name of an argument or of a flag's value that is a file. */
const file = 'file';

/** Returns the script that completes the tool's words in a shell. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](placesOf(commands)).join('\n');
}

/** Returns every place in which something can be completed; of two that fit, the first counts. */
function placesOf(commands: readonly Command[]): Place[] {
  const firstWords = [...new Set(commands.map(({ name }) => name.split(' ')[0]!))];
  const groups = firstWords.map((word): Place => {
    const own = commands.filter(({ name }) => name === word);
    const begun = commands.filter(({ name }) => name.startsWith(`${word} `));
    const seconds = begun.map(({ name, summary }) => [name.slice(word.length + 1), summary] as const);
    return { after: [word], isFirst: true, choices: [...seconds, ...own.flatMap(argumentsOf)] };
  });
  const summaryOf = (word: string) =>
    commands.find(({ name }) => name === word)?.summary ??
    commands.flatMap(({ name }) => (name.startsWith(`${word} `) ? [name.slice(word.length + 1)] : [])).join(', ');
  return [
    { after: [], isFirst: true, choices: firstWords.map((word) => [word, summaryOf(word)] as const) },
    ...groups,
    ...[...commands].sort((one, other) => other.name.length - one.name.length).flatMap(placesWithin),
  ];
}

/** Returns the places within the arguments of a command: values of flags before flags. */
function placesWithin(command: Command): Place[] {
  const words = command.name.split(' ');
  const values = command.options.flatMap(({ name, short, value, choices = [] }): Place[] => {
    const flags = [`--${name}`, ...(short ? [`-${short}`] : [])];
    const texts = choices.map((choice) => [choice, ''] as const);
    return value === undefined
      ? []
      : flags.map((flag) => ({ after: [...words, flag], isFirst: false, choices: texts, hasFiles: value === file }));
  });
  const hasFiles = command.parameters === `<${file}>`;
  return [...values, { after: words, isFirst: false, choices: argumentsOf(command), hasFiles }];
}

function argumentsOf({ choices = [], options }: Command): (readonly [string, string])[] {
  const flags = [...options, jsonOption, helpOption].map(
    ({ name, description }) => [`--${name}`, description.split('; ')[0]!] as const,
  );
  return [...choices.map((choice) => [choice, ''] as const), ...flags];
}

/** Returns the pattern of the words at a place, each with a space around it: `*` stands for any of them. */
function patternOf({ after, isFirst }: Place): string {
  const flag = isFirst ? undefined : after.find((word) => word.startsWith('-'));
  const words = after.filter((word) => word !== flag).map((word) => ` ${word}`);
  if (flag !== undefined) return `${words.join('')}* ${flag} `;
  return `${words.join('')} ${isFirst ? '' : '*'}`;
}

/** Returns a pattern as bash and zsh take it. */
function unquotedStars(pattern: string): string {
  return pattern
    .split('*')
    .map((text) => text && quoted(text))
    .join('*');
}

function bashScript(places: readonly Place[]): string[] {
  return [
    `# Completion of ${tool} in bash: eval "$(${tool} completion bash)"`,
    '_customer_platform() {',
    '  local word candidates= before=" "',
    `  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do before+="$word "; done`,
    '  case "$before" in',
    ...places.map(
      (place) =>
        `    ${unquotedStars(patternOf(place))}) candidates=${quoted(place.choices.map(([text]) => text).join(' '))};;`,
    ),
    '  esac',
    `  COMPREPLY=($(compgen -W "$candidates" -- "\${COMP_WORDS[COMP_CWORD]}"))`,
    '}',
    `complete -o default -F _customer_platform ${tool}`,
  ];
}

function zshScript(places: readonly Place[]): string[] {
  const line = (place: Place) => {
    const entries = place.choices.map(([text, summary]) => quoted(`${text.replaceAll(':', '\\:')}:${summary || text}`));
    const files = place.hasFiles ? ' files=1' : '';
    return `    ${unquotedStars(patternOf(place))}) candidates=(${entries.join(' ')})${files};;`;
  };
  return [
    `#compdef ${tool}`,
    `# Completion of ${tool} in zsh: source <(${tool} completion zsh), after compinit`,
    '_customer_platform() {',
    '  local -a candidates; local files=0',
    `  local before=" \${(j: :)words[2,CURRENT-1]} "`,
    '  (( CURRENT == 2 )) && before=" "',
    '  case "$before" in',
    ...places.map(line),
    '  esac',
    '  (( $#candidates )) && _describe -o word candidates',
    '  (( files )) && _files',
    '}',
    `compdef _customer_platform ${tool}`,
  ];
}

function fishScript(places: readonly Place[]): string[] {
  const lines = places.flatMap((place) => [
    `        case ${quoted(patternOf(place))}`,
    ...place.choices.map(([text, summary]) => `            printf '%s\\t%s\\n' ${quoted(text)} ${quoted(summary)}`),
    ...(place.hasFiles ? ['            __fish_complete_path (commandline -ct)'] : []),
  ]);
  return [
    `# Completion of ${tool} in fish: ${tool} completion fish | source`,
    'function __customer_platform_complete',
    "    set -l before ' '",
    '    for word in (commandline -opc)[2..]',
    '        set before "$before$word "',
    '    end',
    '    switch $before',
    ...lines,
    '    end',
    'end',
    `complete -c ${tool} -f -a '(__customer_platform_complete)'`,
  ];
}

/** Returns a text as a word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
