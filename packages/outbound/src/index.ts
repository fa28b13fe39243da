export { allowedRangesSetting, parseAddressRanges, parsed } from './address-ranges.ts';
export { BoundedSocket } from './bounded-socket.ts';
export { createGetter, type GetResult, type Getter } from './get.ts';
export {
  ConnectError,
  checkPageUrl,
  createGuardedConnector,
  parseUrl,
  refusePrivateTarget,
  type TargetGuard,
  tlsOptions,
} from './guarded-connector.ts';
export { createPoster, isSuccess, type PostError, type Poster, type PostResult } from './post.ts';
export { createNameResolver } from './resolve-name.ts';
export { decryptSecret, encryptSecret, newSigningSecret, parseSecretKeys, type SecretKeys } from './secret.ts';
export { isSigned, signatureHeader, signingKeyOf } from './signature.ts';
