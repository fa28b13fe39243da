import { Code, layOut, python, textOf, typeScript } from './sample-text.js';

/** Returns a sample with the TypeScript client that prints the result, if any. */
export function typeScriptSample(name, { params, query, body, isFile, hasResult }, address) {
  const sent = isFile ? { ...body, file: new Code("new File(['…'], 'opening-hours.md')") } : body;
  const isEmpty = (value) => Object.keys(value).length === 0;
  const input = {
    ...(isEmpty(params) ? {} : { params }),
    ...(isEmpty(query) ? {} : { query }),
    ...(body ? { body: sent } : {}),
  };
  const call = `client.${name}(${isEmpty(input) ? '' : textOf(input, typeScript)})`;
  const awaited = hasResult ? `const result = await ${call};\nconsole.log(result);` : `await ${call};`;
  return `import { createClient } from '@customer-platform/client';

const client = createClient({
  baseUrl: '${address}',
  apiKey: process.env.CUSTOMER_PLATFORM_KEY!,
});

${name === 'events.stream' ? `for await (const event of ${call}) console.log(event.type);` : awaited}`;
}

/** Returns the same sample with the Python client. */
export function pythonSample(name, { params, query, body = {}, isFile, hasResult }, address) {
  const sent = isFile ? { ...body, file: new Code('open("opening-hours.md", "rb")') } : body;
  const named = Object.entries({ ...query, ...sent }).map(
    ([each, value]) => `${each === 'from' ? 'from_' : each}=${textOf(value, python, python.indent)}`,
  );
  const given = [...Object.values(params).map(python.literal), ...named];
  const method = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const call = layOut(`client.${method}(`, given, ')', python, '');
  const printed = hasResult ? `result = ${call}\nprint(result)` : call;
  return `import os

from customer_platform import Client

client = Client(
    base_url="${address}",
    api_key=os.environ["CUSTOMER_PLATFORM_KEY"],
)

${name === 'events.stream' ? `for event in ${call}:\n    print(event.type)` : printed}`;
}
