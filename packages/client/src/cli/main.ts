#!/usr/bin/env node
import { run } from './run.ts';

const ended = new AbortController();
const end = () => ended.abort(new Error('Ended'));
process.once('SIGINT', end);
process.once('SIGTERM', end);
// The reader of a pipe may close it early, as `head` does.
process.stdout.on('error', end);

// A line wider than the terminal would wrap, and the next draw would replace only its last part.
const draw = (line: string) => void process.stderr.write(`\r\u001b[2K${line.slice(0, process.stderr.columns - 1)}`);

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  input: process.stdin,
  print: (line) => void process.stdout.write(`${line}\n`),
  note: (line) => void process.stderr.write(`${line}\n`),
  write: (text) =>
    new Promise((resolve, reject) => process.stdout.write(text, (error) => (error ? reject(error) : resolve()))),
  terminal: process.stderr.isTTY ? { draw } : undefined,
  signal: ended.signal,
});
