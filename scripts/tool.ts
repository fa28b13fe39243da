import { spawnSync } from 'node:child_process';

/** Runs a program for at most ten minutes, which is enough for Go to build the largest one. */
export type Tool = (args: string[], options?: { cwd?: string; env?: NodeJS.ProcessEnv }) => ToolResult;

/** Result of a program, with its standard output and standard error. */
export interface ToolResult {
  ok: boolean;
  stdout: string;
  stderr: string;
}

/** Returns the program with a path or name, whether it exists or not. */
export function toolAt(command: string): Tool {
  return (args, { cwd = process.cwd(), env = {} } = {}) => {
    const { status, stdout, stderr, error } = spawnSync(command, args, {
      cwd,
      env: { ...process.env, ...env },
      encoding: 'utf8',
      timeout: 600_000,
      maxBuffer: 64 * 1_048_576,
    });
    return { ok: status === 0, stdout: stdout ?? '', stderr: `${stderr ?? ''}${error?.message ?? ''}` };
  };
}

/** Returns the first of some programs that prints its version with these arguments. */
export function firstTool(commands: string[], ...versionArgs: string[]): Tool | undefined {
  return commands.map(toolAt).find((tool) => tool(versionArgs).ok);
}
