import { randomBytes } from 'node:crypto';
import * as contract from '@customer-platform/contracts/messaging';
import { encryptSecret } from '@customer-platform/outbound';
import { fieldParser } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { providers } from '../providers/all.ts';
import { type Settings, settingsOf, toChannel, toChannelState } from './channel.ts';
import { lockChannel, upsertChannel } from './channels.sql.ts';

/** Providers that an account can set up. */
const offered = [...providers.values()].filter(({ name }) => name !== 'simulated');

export const putChannel = implement(contract.putChannel, {
  async handle({ account, params, body, tx, now, resources, fail, prefetch, emit }) {
    const { channel } = params;
    const possible = offered.filter(({ channels }) => channels.includes(channel));
    const provider = possible.find(({ name }) => name === body.provider);
    if (!provider) {
      const names = possible.map(({ name }) => name).sort();
      return fail('invalid_request', `provider must be ${names.join(' or ')} for ${channel}`, 'provider');
    }
    const before = await lockChannel(tx, account.id, channel);
    const parse = fieldParser(provider.settings, 'settings') as (settings: Settings) => Settings;
    const known = before?.provider === provider.name ? settingsOf(before, resources) : {};
    const named = withoutNulls(body.settings);
    const withSecrets = parse({ ...secretsOf(known, provider.secrets), ...named });
    const isSame = provider.secretsBelongTo.every((name) => withSecrets[name] === known[name]);
    const given = isSame ? withSecrets : parse(named);
    const settings = provider.prepare?.(given, { guard: resources.tools.guard, prefetch }) ?? given;
    const row = {
      account_id: account.id,
      channel,
      provider: provider.name,
      settings: encryptSecret(resources.secretKeys, JSON.stringify(settings), account.id, channel),
      token: randomBytes(24).toString('base64url'),
    };
    const made = provider.secrets.filter((name) => given[name] === undefined && settings[name] !== undefined);
    const stored = await upsertChannel(tx, row, now);
    if (before?.failing_since) emit(contract.channelRecovered, toChannelState(stored, account, now));
    return toChannel(stored, account, resources, made);
  },
});

function secretsOf(settings: Settings, names: readonly string[]): Settings {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => names.includes(name)));
}

function withoutNulls(settings: Settings): Settings {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null));
}
