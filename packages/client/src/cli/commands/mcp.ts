import type { Command } from '../command.ts';

export const mcp: Command = {
  name: 'mcp',
  parameters: '',
  arity: [0, 0],
  summary: 'Let an AI assistant use the API',
  description:
    'Serves the Model Context Protocol on the standard input and output, for assistants that start it themselves. The scopes of the key limit what the assistant can do. Keys and secrets are hidden from the assistant. The assistant asks you before each write. If it cannot ask, writes with a live key are refused, and writes with a test key are sent.',
  options: [
    { name: 'read-only', description: 'Offer no writes' },
    { name: 'yes', description: 'Send writes without asking; your assistant may still ask' },
  ],
  examples: ['mcp', 'mcp --read-only'],
  async run(call) {
    const options = { isReadOnly: call.isSet('read-only'), isConfirmed: call.isSet('yes') };
    const client = await call.clientOptions();
    // The server's packages are large, so other commands do not load them.
    const { serve } = await import('../mcp/serve.ts');
    await serve(client, options, call);
  },
};
