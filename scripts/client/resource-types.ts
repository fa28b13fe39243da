/** Text of a client method's declaration. */
export interface Method {
  /** Its place in the client, as `calendar.appointments.create`. */
  name: string;
  /** Operation id, which is also the method's deprecated flat name. */
  key: string;
  /** Comment of the member; `signature` follows its name: `(input?: CallOptions): ApiCall<Me>;`. */
  comment: string;
  signature: string;
}

/** Methods and groups of one resource, in their order. */
interface Group {
  members: Map<string, Method | Group>;
}

/**
 * Returns interfaces of the methods: one for each resource, `Resources` for all of them, and `FlatOperations` with the flat name of
 * each. Throws an Error if a method has the same path as another method or a group.
 */
export function resourceTypes(methods: readonly Method[]): Map<string, string> {
  const root: Group = { members: new Map() };
  for (const method of methods) add(root, method);
  const declarations = new Map([['Resources', declarationOf('Resources', 'All resources of the API.', root, [])]]);
  const visit = (group: Group, path: string[]) => {
    for (const [name, member] of group.members) {
      if (!isGroup(member)) continue;
      const own = [...path, name];
      const comment = `Methods of \`client.${own.join('.')}\`.`;
      declarations.set(interfaceOf(own), declarationOf(interfaceOf(own), comment, member, own));
      visit(member, own);
    }
  };
  visit(root, []);
  return declarations.set('FlatOperations', aliasesOf(methods));
}

function add(root: Group, method: Method): void {
  const path = method.name.split('.');
  const last = path.pop()!;
  let group = root;
  for (const name of path) {
    const next: Method | Group = group.members.get(name) ?? { members: new Map() };
    if (!isGroup(next)) throw new Error(`${method.name} is in ${next.name}, which is a method`);
    group.members.set(name, next);
    group = next;
  }
  if (group.members.has(last)) throw new Error(`Two members of the client are named ${method.name}`);
  group.members.set(last, method);
}

function declarationOf(name: string, comment: string, { members }: Group, path: string[]): string {
  const methods: string[] = [];
  const groups: string[] = [];
  for (const [member, value] of members) {
    if (isGroup(value)) groups.push(`  readonly ${member}: ${interfaceOf([...path, member])};\n`);
    else methods.push(`${value.comment}  ${member}${value.signature}\n`);
  }
  const blocks = groups.length > 0 ? [...methods, groups.join('')] : methods;
  return `/** ${comment} */\nexport interface ${name} {\n${blocks.join('\n')}}\n`;
}

function aliasesOf(methods: readonly Method[]): string {
  const aliases = methods.map(({ name, key }) => {
    const path = name.split('.');
    const method = path.pop()!;
    return `  /** @deprecated Use \`client.${name}\`. */\n  readonly ${key}: ${interfaceOf(path)}['${method}'];\n`;
  });
  return `/** The methods by their former names, which go with the next release. */\nexport interface FlatOperations {\n${aliases.join('')}}\n`;
}

function isGroup(member: Method | Group): member is Group {
  return 'members' in member;
}

/** Returns `CalendarTimeOffApi` for `calendar.timeOff`. */
function interfaceOf(path: string[]): string {
  return `${path.map((name) => `${name[0]!.toUpperCase()}${name.slice(1)}`).join('')}Api`;
}
