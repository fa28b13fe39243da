import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** A program that can be run. */
export interface Tool {
  /** Its path, or its name where PATH has it. */
  command: string;
  /** Runs it for at most ten minutes, which is how long the largest takes to be built. */
  run(args: string[], options?: { cwd?: string; env?: NodeJS.ProcessEnv }): ToolResult;
}

/** End of a program, with its standard output and errors. */
export interface ToolResult {
  ok: boolean;
  stdout: string;
  stderr: string;
}

/** Returns the program with a path or name, whether it is there or not. */
export function toolAt(command: string): Tool {
  return {
    command,
    run(args, { cwd = process.cwd(), env = {} } = {}) {
      const { status, stdout, stderr, error } = spawnSync(command, args, {
        cwd,
        env: { ...process.env, ...env },
        encoding: 'utf8',
        timeout: 600_000,
        maxBuffer: 64 * 1_048_576,
      });
      return { ok: status === 0, stdout: stdout ?? '', stderr: `${stderr ?? ''}${error?.message ?? ''}` };
    },
  };
}

/** Returns Go, from PATH or from where its own archive is unpacked to; undefined where it is missing. */
export function findGo(): Tool | undefined {
  return ['go', '/usr/local/go/bin/go'].map(toolAt).find((go) => go.run(['version']).ok);
}

/** Program that Go can build. */
export interface WantedTool {
  name: string;
  /** Arguments with which it only prints its version. */
  versionArgs: string[];
  /** Its package with a version, as `go install` wants it. */
  module: string;
}

/**
 * Returns a program, from PATH, our folder or Go's, else built by Go into our folder.
 * @throws Error when Go cannot build it
 */
export function findTool({ name, versionArgs, module }: WantedTool, folder: string, go?: Tool): Tool | undefined {
  const goPath = go?.run(['env', 'GOPATH']).stdout.trim();
  const folders = goPath ? [folder, join(goPath, 'bin')] : [folder];
  const paths = folders.map((each) => join(each, name)).filter((path) => existsSync(path));
  const found = [name, ...paths].map(toolAt).find((tool) => tool.run(versionArgs).ok);
  if (found !== undefined || go === undefined) return found;
  console.log(`chart: building ${module}`);
  const { ok, stderr } = go.run(['install', module], { env: { GOBIN: folder } });
  if (!ok) throw new Error(`${module} could not be built: ${stderr.trim().split('\n').at(-1)}`);
  return toolAt(join(folder, name));
}
