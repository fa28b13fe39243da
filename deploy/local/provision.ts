import postgres from 'postgres';

// Advisory lock key shared by all runs that provision through the same database. Other programs are unlikely to use it.
const provisionLock = 7_201_634_411;

/** Session settings of a role. They must equal packages/service-kit's for direct connections: a process behind a pooler compares them. */
const sessionSettings = [
  ['statement_timeout', '5000'],
  ['idle_in_transaction_session_timeout', '15000'],
  ['timezone', 'UTC'],
  ['jit', 'off'],
] as const;

/** Name of a service, which is also the name of its schema, and the password of its role. */
export interface ServiceRole {
  name: string;
  password: string;
}

/**
 * Creates for each service a login role `platform_<name>` and a schema `<name>` that only this role may use. Sets the role's search_path
 * and timeouts, and installs btree_gist and pg_trgm in public. Idempotent; sets passwords again. Concurrent runs wait for each other.
 * @param options.database created when missing; default: the database of adminUrl
 * @throws Error when the connection fails, or when adminUrl's role lacks a privilege, which the message names
 */
export async function provision(adminUrl: string, options: { database?: string; roles: ServiceRole[] }): Promise<void> {
  for (const role of options.roles) requireName(role.name);
  const admin = postgres(adminUrl, { max: 1, onnotice: () => undefined });
  try {
    await requireRights(admin, adminUrl);
    await admin`select pg_advisory_lock(${provisionLock}::bigint)`;
    if (options.database === undefined) {
      await provisionDatabase(admin, options.roles);
      return;
    }
    const known = await admin`select from pg_database where datname = ${options.database}`;
    if (known.length === 0) await admin`create database ${admin(options.database)}`;
    const inside = postgres(databaseUrl(adminUrl, options.database), { max: 1, onnotice: () => undefined });
    try {
      await provisionDatabase(inside, options.roles);
    } finally {
      await inside.end({ timeout: 5 });
    }
  } finally {
    await admin.end({ timeout: 5 }); // releases the lock
  }
}

/** Returns adminUrl with the user and password of a service's role, and another database if given. */
export function roleUrl(adminUrl: string, name: string, password: string, database?: string): string {
  requireName(name);
  const url = new URL(adminUrl);
  url.username = `platform_${name}`;
  url.password = encodeURIComponent(password);
  if (database !== undefined) url.pathname = `/${encodeURIComponent(database)}`;
  return url.href;
}

/** Returns adminUrl with another database. */
export function databaseUrl(adminUrl: string, database: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${encodeURIComponent(database)}`;
  return url.href;
}

function requireName(name: string): void {
  if (/^[a-z][a-z0-9_]{0,49}$/.test(name)) return;
  throw new Error(
    `"${name}" cannot name a schema: use a lowercase letter, then lowercase letters, digits or _, at most 50 characters`,
  );
}

async function requireRights(admin: postgres.Sql, adminUrl: string): Promise<void> {
  const [role] = await admin<{ name: string; rolsuper: boolean; rolcreaterole: boolean; creates: boolean }[]>`
    select rolname as name, rolsuper, rolcreaterole, has_database_privilege(current_database(), 'CREATE') as creates
    from pg_roles where rolname = current_user`.catch((error: Error) => {
    throw new Error(`cannot connect to the database at ${new URL(adminUrl).host}: ${error.message}`, { cause: error });
  });
  if (role === undefined) throw new Error('the database does not show its own current role');
  if (role.rolsuper || (role.rolcreaterole && role.creates)) return;
  throw new Error(
    `the database role "${role.name}" may not create roles and schemas: connect as a superuser, or let a superuser run ` +
      `ALTER ROLE "${role.name}" CREATEROLE and GRANT CREATE ON DATABASE for it`,
  );
}

async function requireEncoding(database: postgres.Sql): Promise<void> {
  const [found] = await database<{ name: string; encoding: string }[]>`
    select current_database() as name, current_setting('server_encoding') as encoding`;
  if (found?.encoding === 'UTF8') return;
  throw new Error(
    `the encoding of the database "${found?.name}" is ${found?.encoding} and must be UTF8: create a database with ` +
      `CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'`,
  );
}

async function provisionDatabase(pool: postgres.Sql, roles: ServiceRole[]): Promise<void> {
  await requireEncoding(pool);
  await pool.begin(async (sql) => {
    await sql`revoke create on schema public from public`;
    for (const extension of ['btree_gist', 'pg_trgm']) {
      await sql`create extension if not exists ${sql(extension)} schema public`;
    }
    for (const role of roles) await provisionRole(sql, role);
  });
}

async function provisionRole(sql: postgres.TransactionSql, { name, password }: ServiceRole): Promise<void> {
  const role = `platform_${name}`;
  const [found] = await sql<{ exists: boolean; database: string; superuser: boolean }[]>`
    select exists (select from pg_roles where rolname = ${role}), current_database() as database,
      (select rolsuper from pg_roles where rolname = current_user) as superuser`;
  const verb = found?.exists ? 'alter' : 'create'; // the role's only privilege is to log in
  const [statement] = await sql<{ text: string }[]>`
    select format(${`${verb} role %I login password %L`}, ${role}::text, ${password}::text) as text`;
  await sql.unsafe(statement?.text ?? '');
  // Only a superuser may create a schema for a role without being a member of it.
  if (!found?.superuser) await sql`grant ${sql(role)} to current_user`;
  await sql`grant connect, temporary on database ${sql(found?.database ?? '')} to ${sql(role)}`;
  await sql`grant usage on schema public to ${sql(role)}`;
  await sql`create schema if not exists ${sql(name)} authorization ${sql(role)}`;
  await sql`revoke all on schema ${sql(name)} from public`;
  await sql`alter role ${sql(role)} in database ${sql(found?.database ?? '')} set search_path = ${sql(name)}, public`;
  // A pooler in transaction mode does not pass session settings on, so the role carries them.
  for (const [setting, value] of sessionSettings) {
    await sql.unsafe(
      `alter role ${role} in database "${(found?.database ?? '').replaceAll('"', '""')}" set ${setting} = '${value}'`,
    );
  }
}

/** Returns the roles that the environment names: ROLE_PASSWORD_CALENDAR=… is the role of calendar. */
function rolesFromEnvironment(): ServiceRole[] {
  const prefix = 'ROLE_PASSWORD_';
  return Object.entries(process.env).flatMap(([key, password]) =>
    key.startsWith(prefix) && password ? [{ name: key.slice(prefix.length).toLowerCase(), password }] : [],
  );
}

if (import.meta.main) {
  const { ADMIN_DATABASE_URL } = process.env;
  const roles = rolesFromEnvironment();
  if (!ADMIN_DATABASE_URL || roles.length === 0) {
    console.error('provision needs ADMIN_DATABASE_URL and at least one ROLE_PASSWORD_<NAME>');
    process.exit(1);
  }
  try {
    await provision(ADMIN_DATABASE_URL, { roles });
    console.log(`schemas and roles are ready: ${roles.map((role) => role.name).join(', ')}`);
  } catch (error) {
    console.error(`provision failed: ${(error as Error).message}`);
    process.exit(1);
  }
}
