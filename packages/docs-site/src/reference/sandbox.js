/**
 * Returns the document with examples that refer to existing resources of the key's account, if there are any, so that a request that is tried as
 * shown succeeds.
 */
export async function forSandbox(document, key) {
  const get = async (path) => {
    const response = await fetch(path, { headers: { authorization: `Bearer ${key}` } });
    return response.ok ? await response.json() : undefined;
  };
  const places = placesOf(document);
  const entries = {};
  // Nested resources are looked up once their parent is known.
  for (const isBelow of [false, true]) {
    const now = places.filter(({ list }) => list.includes('{') === isBelow);
    const found = await Promise.all(now.map((place) => entryAt(get, document, place, entries)));
    for (const [index, { name }] of now.entries()) if (found[index]) entries[name] = found[index];
  }
  const known = places.filter(({ name }) => entries[name]);
  const ids = Object.fromEntries(known.map(({ name }) => [name, idOf(entries[name], name)]));
  const texts = known
    .filter(({ example }) => typeof example === 'string')
    .map(({ example, name }) => [example, ids[name]]);
  const numbers = {
    booking_type: ids.booking_type_id,
    collection: ids.collection_id,
    stage: await nextStage(get, entries.deal_id),
  };
  keepOneOfPair(document, entries.duplicate_id);
  const starts = await nextStarts(get, ids.booking_type_id);
  const [booked, moved] = exampleStarts(document);
  makeUnique(document);
  const [target, since] = exampleTimes(document);
  const daysAhead = await timesOf(get);
  const replaced = new Map([
    ...texts,
    [booked, starts[0] ?? booked],
    [moved, starts[1] ?? moved],
    [target, daysAhead(3) ?? target],
    [since, daysAhead(-1) ?? since],
  ]);
  return JSON.parse(JSON.stringify(document), (name, value) => {
    if (typeof value === 'string') return replaced.get(value) ?? value;
    if (typeof value === 'number') return numbers[name] ?? value;
    if (name === 'pipelines' && typeof value?.[0] === 'number') return ids.pipeline_id ? [ids.pipeline_id] : value;
    if (value?.in !== undefined && typeof value.example === 'number')
      return { ...value, example: ids[value.name] ?? numbers[value.name] ?? value.example };
    return value;
  });
}

/** Fields that must be unique in an account, by the path at which they are created. */
const unique = {
  '/v1/agents/knowledge/collections': 'name',
  '/v1/agents/knowledge/sources': 'title',
  '/v1/catalogue/products': 'sku',
  '/v1/cdp/audiences': 'name',
};

/** Makes unique fields of example bodies unique at each opening of the page. */
function makeUnique({ paths }) {
  for (const [path, field] of Object.entries(unique)) {
    const body = exampleBody(paths, path);
    if (body) body[field] += `-${Date.now().toString(36)}`;
  }
}

/** Returns the path parameters, each with its example and the path before it, which lists the resources it identifies. */
function placesOf({ paths, components }) {
  const places = new Map();
  for (const [path, methods] of Object.entries(paths)) {
    const own = Object.values(methods).flatMap(({ parameters: each = [] }) => each);
    for (const { 1: name, index } of path.matchAll(/\/\{(\w+)\}/g)) {
      const parameter = [...own, ...Object.values(components.parameters)].find((each) => each.name === name);
      if (parameter) places.set(name, { name, list: path.slice(0, index), example: parameter.example });
    }
  }
  return [...places.values()];
}

/** Returns whether a list's entry is in a state in which most operations on it succeed, by the list's path. */
const workable = {
  '/v1/agents': ({ status }) => status === 'live',
  '/v1/agents/plans': ({ status }) => status === 'awaiting_approval',
  '/v1/calendar/appointments': ({ status }) => status === 'booked' || status === 'confirmed',
  '/v1/catalogue/orders': ({ status }) => status === 'new',
  '/v1/crm/deals': ({ status }) => status === 'open',
  '/v1/messages': ({ status }) => status === 'scheduled',
};

/** Returns the newest workable entry for a parameter, else the newest entry; undefined if there is none. */
async function entryAt(get, { paths }, { list }, entries) {
  const filled = list.replaceAll(
    /\{(\w+)\}/g,
    (_, name) => entries[name] && encodeURIComponent(idOf(entries[name], name)),
  );
  if (filled.includes('undefined')) return undefined;
  const [, above, field] = /\{(\w+)\}\/(\w+)$/.exec(list) ?? [];
  const listed = paths[list]?.get ? (await get(`${filled}?limit=20`))?.data : entries[above]?.[field];
  return listed?.find(workable[list] ?? (() => true)) ?? listed?.[0];
}

/** Returns the parameter value that identifies an entry. */
function idOf(entry, name) {
  return entry[name in entry ? name : 'id'];
}

/** Makes the example of a merge keep one contact of the pair. */
function keepOneOfPair({ paths }, pair) {
  const body = exampleBody(paths, '/v1/cdp/duplicates/{duplicate_id}/merge');
  if (body && pair) body.keep = pair.contacts[0].id;
}

/** Returns another stage of a deal's own pipeline. */
async function nextStage(get, deal) {
  const pipeline = deal && (await get(`/v1/crm/pipelines/${deal.pipeline.id}`));
  return pipeline?.stages.find(({ id }) => id !== deal.stage.id)?.id;
}

/** Returns the next two free starts of a booking type. */
async function nextStarts(get, bookingType) {
  if (bookingType === undefined) return [];
  const times = await get(`/v1/calendar/free-times?booking_type=${bookingType}&limit=2`);
  return (times?.data ?? []).map(({ starts_at }) => starts_at);
}

/** Returns a function for times a number of days ahead of the sandbox clock. It returns undefined without a clock. */
async function timesOf(get) {
  const clock = await get('/v1/sandbox/clock');
  return (days) => clock && new Date(Date.parse(clock.now) + days * 86_400_000).toISOString();
}

/** Returns the time to which the example advances the clock, and the time since which the example resends failed messages. */
function exampleTimes({ paths }) {
  return [exampleBody(paths, '/v1/sandbox/clock')?.advance_to, exampleBody(paths, '/v1/messages/resend')?.since];
}

/** Returns the start times in the examples of a booking and a reschedule. */
function exampleStarts({ paths }) {
  return ['/v1/calendar/appointments', '/v1/calendar/appointments/{appointment_id}/reschedule'].map(
    (path) => exampleBody(paths, path)?.starts_at,
  );
}

/** Returns the example body of a POST; undefined if the document has no such operation. */
function exampleBody(paths, path) {
  return paths[path]?.post?.requestBody.content['application/json'].example;
}
