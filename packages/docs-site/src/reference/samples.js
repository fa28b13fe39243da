import { pythonSample, typeScriptSample } from './client-samples.js';
import { curlSample, fetchSample, requestsSample } from './http-samples.js';

/**
 * Gives each operation of a document samples: in curl, in our clients, which have a method for each, and in what JavaScript and Python are
 * used with otherwise. `address` is that of the API.
 */
export function addSamples(document, address) {
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const name = operation['x-client-name'];
      const input = inputOf(document, operation);
      const request = { ...input, method: method.toUpperCase(), url: address + filled(path, input) };
      operation['x-codeSamples'] = [
        { lang: 'curl', label: 'curl', source: curlSample(request) },
        { lang: 'typescript', label: 'TypeScript client', source: typeScriptSample(name, input, address) },
        { lang: 'python', label: 'Python client', source: pythonSample(name, input, address) },
        { lang: 'javascript', label: 'JavaScript fetch', source: fetchSample(request) },
        { lang: 'python', label: 'Python requests', source: requestsSample(request) },
      ];
    }
}

/** Returns the examples of what an operation must be given, in its path, its query and its body, and what comes back. */
function inputOf({ components }, { parameters = [], requestBody, responses }) {
  const whole = parameters.map((each) => (each.$ref ? components.parameters[each.$ref.split('/').at(-1)] : each));
  const [params, query] = ['path', 'query'].map((place) =>
    Object.fromEntries(
      whole.filter((each) => each.in === place && each.required).map((each) => [each.name, each.example]),
    ),
  );
  const [[type, content] = []] = Object.entries(requestBody?.content ?? {});
  const results = Object.entries(responses).filter(([status]) => status < '300');
  const types = results.flatMap(([, response]) => Object.keys(response.content ?? {}));
  return {
    params,
    query,
    body: content?.example,
    isFile: type === 'multipart/form-data',
    hasResult: types.length > 0,
    isStream: types.includes('text/event-stream'),
  };
}

/** Returns a path with its examples and the query that it needs. */
function filled(path, { params, query }) {
  const place = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(params[name]));
  const search = new URLSearchParams(query).toString();
  return search ? `${place}?${search}` : place;
}
