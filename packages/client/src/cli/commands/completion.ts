import type { Command } from '../command.ts';
import { completionScript, shells } from '../completion.ts';

/** Returns the command that prints completion scripts. */
export function completionOf(commands: () => readonly Command[]): Command {
  return {
    name: 'completion',
    parameters: `<${shells.join('|')}>`,
    arity: [1, 1],
    choices: shells,
    summary: 'Print a completion script for a shell',
    description: 'Put the line for your shell into its startup file, such as ~/.bashrc.',
    options: [],
    examples: [
      'completion bash      # eval "$(customer-platform completion bash)"',
      'completion zsh       # source <(customer-platform completion zsh)',
      'completion fish      # customer-platform completion fish | source',
    ],
    async run(call) {
      const shell = shells.find((each) => each === call.positionals[0])!;
      await call.write(`${completionScript(shell, commands())}\n`);
    },
  };
}
