/** Gives each operation of a document samples in our clients, which have a method for each. `address` is that of the API. */
export function addSamples(document, address) {
  for (const operation of Object.values(document.paths).flatMap(Object.values)) {
    const name = operation['x-client-name'];
    const input = inputOf(document, operation);
    operation['x-codeSamples'] = [
      { lang: 'typescript', label: 'TypeScript client', source: typeScriptSample(name, input, address) },
      { lang: 'python', label: 'Python client', source: pythonSample(name, input, address) },
    ];
  }
}

/** Returns the examples of what an operation must be given: in its path, its query and its body. */
function inputOf({ components }, { parameters = [], requestBody }) {
  const whole = parameters.map((each) => (each.$ref ? components.parameters[each.$ref.split('/').at(-1)] : each));
  const [params, query] = ['path', 'query'].map((place) =>
    Object.fromEntries(
      whole.filter((each) => each.in === place && each.required).map((each) => [each.name, each.example]),
    ),
  );
  const [[type, content] = []] = Object.entries(requestBody?.content ?? {});
  return { params, query, body: content?.example, isFile: type === 'multipart/form-data' };
}

/** Text of a sample that is code already. */
class Code {
  constructor(text) {
    this.text = text;
  }
}

const typeScript = {
  indent: '  ',
  object: ['{ ', ' }'],
  name: (name) => (/^[a-z_]\w*$/i.test(name) ? name : typeScript.literal(name)),
  literal: (value) =>
    typeof value === 'string'
      ? `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
      : JSON.stringify(value),
};

function typeScriptSample(name, { params, query, body, isFile }, address) {
  const sent = isFile ? { ...body, file: new Code("new File(['…'], 'opening-hours.md')") } : body;
  const isEmpty = (value) => Object.keys(value).length === 0;
  const input = {
    ...(isEmpty(params) ? {} : { params }),
    ...(isEmpty(query) ? {} : { query }),
    ...(body ? { body: sent } : {}),
  };
  const call = `client.${name}(${isEmpty(input) ? '' : textOf(input, typeScript)})`;
  return `import { createClient } from '@customer-platform/client';

const client = createClient({
  baseUrl: '${address}',
  apiKey: process.env.CUSTOMER_PLATFORM_KEY!,
});

${name === 'events.stream' ? `for await (const event of ${call}) console.log(event.type);` : `await ${call};`}`;
}

const python = {
  indent: '    ',
  object: ['{', '}'],
  name: (name) => python.literal(name),
  literal: (value) => ({ true: 'True', false: 'False', null: 'None' })[value] ?? JSON.stringify(value),
};

function pythonSample(name, { params, query, body = {}, isFile }, address) {
  const sent = isFile ? { ...body, file: new Code('open("opening-hours.md", "rb")') } : body;
  const named = Object.entries({ ...query, ...sent }).map(
    ([each, value]) => `${each === 'from' ? 'from_' : each}=${textOf(value, python, python.indent)}`,
  );
  const given = [...Object.values(params).map(python.literal), ...named];
  const method = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const call = layOut(`client.${method}(`, given, ')', python, '');
  return `import os

from customer_platform import Client

client = Client(
    base_url="${address}",
    api_key=os.environ["CUSTOMER_PLATFORM_KEY"],
)

${name === 'events.stream' ? `for event in ${call}:\n    print(event.type)` : call}`;
}

/** Returns the text of an example in a language; `indent` is that of the line on which it begins. */
function textOf(value, language, indent = '') {
  if (value instanceof Code) return value.text;
  if (value === null || typeof value !== 'object') return language.literal(value);
  const text = (each) => textOf(each, language, indent + language.indent);
  if (Array.isArray(value)) return layOut('[', value.map(text), ']', language, indent);
  const [open, close] = language.object;
  const entries = Object.entries(value).map(([name, each]) => `${language.name(name)}: ${text(each)}`);
  return layOut(open, entries, close, language, indent);
}

/** Characters that a line of a sample has at most, if it can be broken: as many as the page shows beside the text. */
const lineLength = 60;

/** Returns parts in one line where they fit, otherwise each in its own. */
function layOut(open, parts, close, language, indent) {
  const line = `${open}${parts.join(', ')}${close}`;
  if (parts.length === 0 || (indent.length + line.length <= lineLength && !line.includes('\n'))) return line;
  const lines = parts.map((part) => `${indent}${language.indent}${part},\n`).join('');
  return `${open.trimEnd()}\n${lines}${indent}${close.trimStart()}`;
}
