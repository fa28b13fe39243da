import type { Command } from './command.ts';
import { helpOption, jsonOption, tool } from './usage.ts';

/** Shells that have a completion script. */
export const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/** A place where completion applies, with its candidates. */
interface Place {
  /** The words before, without the tool's name. If the last one is a flag, its value follows. */
  after: readonly string[];
  /** The place is directly after these words. Otherwise other arguments may stand between. */
  isFirst: boolean;
  choices: readonly (readonly [text: string, summary: string])[];
  hasFiles?: boolean;
}

/** An argument or flag value with this name is a file. */
const file = 'file';

/** Returns a shell's completion script. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](placesOf(commands)).join('\n');
}

/** Returns all places where completion applies. If two match, the first wins. */
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

/** Returns the places within a command's arguments. Flag values come before flags, since the first match wins. */
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

/** Returns the glob pattern of the words before a place, each between spaces. `*` matches any words. */
function patternOf({ after, isFirst }: Place): string {
  const flag = isFirst ? undefined : after.find((word) => word.startsWith('-'));
  const words = after.filter((word) => word !== flag).map((word) => ` ${word}`);
  if (flag !== undefined) return `${words.join('')}* ${flag} `;
  return `${words.join('')} ${isFirst ? '' : '*'}`;
}

/** Returns a pattern for bash and zsh: quoted, except for `*`. */
function unquotedStars(pattern: string): string {
  return pattern
    .split('*')
    .map((text) => text && quoted(text))
    .join('*');
}

function bashScript(places: readonly Place[]): string[] {
  return [
    `# ${tool} completion for bash: eval "$(${tool} completion bash)"`,
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
    `# ${tool} completion for zsh: source <(${tool} completion zsh), after compinit`,
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
    `# ${tool} completion for fish: ${tool} completion fish | source`,
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

/** Returns a string as one quoted shell word. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
