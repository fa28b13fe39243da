/**
 * What the server takes of other packages. The build bundles this file with them and their licences, so that the package that customers install
 * has no dependencies.
 */
export { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
export { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
export { default as MiniSearch } from 'minisearch';
export { int, record, strictObject, string, unknown } from 'zod';
