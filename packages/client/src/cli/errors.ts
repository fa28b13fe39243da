/** Wrong use of the tool: its exit code is 2. */
export class UsageError extends Error {}

/** A tool that is not set up: there is no key, or a file cannot be read. */
export class SetupError extends Error {}

/** A file of the user that cannot be read, or has other content than it should. */
export class FileError extends Error {}
