export { type AddressRange, parseAddressRanges } from './address-ranges.ts';
export {
  ConnectError,
  type ConnectFailure,
  checkTargetUrl,
  createGuardedConnector,
  type TargetGuard,
} from './guarded-connector.ts';
export {
  createPoster,
  isSuccess,
  type PostError,
  type Poster,
  type PostRequest,
  type PostResult,
} from './post.ts';
export { refusePrivateTarget } from './refuse-private-target.ts';
export { createNameResolver, type ResolveName } from './resolve-name.ts';
export { decryptSecret, encryptSecret, newSigningSecret, parseSecretKeys, type SecretKeys } from './secret.ts';
export { allowedRangesSetting, parsed } from './settings.ts';
export { isSigned, signatureHeader, signingKeyOf } from './signature.ts';
