import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema, type ElicitResult } from '@modelcontextprotocol/sdk/types.js';

/** An assistant: the MCP reference client, connected to a server that it started. */
export interface Assistant {
  client: Client;
  /** Calls a tool. Returns its text, and whether it is an error. */
  call(tool: string, given: Record<string, unknown>): Promise<{ text: string; isError: boolean }>;
  /** Calls a tool that returns JSON. Throws an Error with its text if the result is an error. */
  // biome-ignore lint/suspicious/noExplicitAny: results of any shape
  json(tool: string, given: Record<string, unknown>): Promise<any>;
  /** The questions to the user, in order. */
  questions: string[];
  /** Returns the server's standard error so far. */
  err(): string;
  /** Lines of the standard output that are not MCP messages. */
  strays: Error[];
  close(): Promise<void>;
}

/** Options of the server process and its user. */
interface StartOptions {
  env: Record<string, string>;
  /** Working folder of the program. Default: the test's. */
  cwd?: string;
  /** The user's answer to each question. Without it, the assistant cannot ask. */
  answer?: ElicitResult['action'] | undefined;
}

/** Starts a program with its arguments as an MCP server, as an assistant does. */
export async function startAssistant(
  [program, ...args]: [string, ...string[]],
  { env, cwd = process.cwd(), answer }: StartOptions,
): Promise<Assistant> {
  const capabilities = answer === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client({ name: 'test', version: '1.0.0' }, { capabilities });
  const transport = new StdioClientTransport({ command: program, args, env, cwd, stderr: 'pipe' });
  const [questions, strays]: [string[], Error[]] = [[], []];
  let err = '';
  transport.stderr?.on('data', (text: Buffer) => (err += text.toString()));
  if (answer !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      questions.push(params.message);
      return { action: answer, ...(answer === 'accept' ? { content: {} } : {}) };
    });
  }
  client.onerror = (error) => void strays.push(error);
  await client.connect(transport).catch((error: Error) => {
    throw new Error(`${program} ${args.join(' ')}: ${error.message}\n${err}`);
  });
  const call: Assistant['call'] = async (name, given) => {
    const { content, isError } = await client.callTool({ name, arguments: given });
    const [{ text }] = content as [{ text: string }];
    return { text, isError: isError === true };
  };
  return {
    client,
    call,
    async json(tool, given) {
      const { text, isError } = await call(tool, given);
      if (isError) throw new Error(text);
      return JSON.parse(text) as unknown;
    },
    questions,
    err: () => err,
    strays,
    close: () => client.close(),
  };
}
