/** Wrong use of the tool: its exit code is 2. */
export class UsageError extends Error {}

/** A tool that is not set up: there is no key, or a file cannot be read. */
export class SetupError extends Error {}
