import { InvalidOptionError } from '@tidemark/contracts'
import { UnauthorizedAccessError } from '../errors/unauthorized-access-error.ts'
import { areEqualBytes, hmacSha256, signingKey, type SigningKey } from '../platform/hmac.ts'
import { utcDate } from '../platform/utc-date.ts'
import { parseSharedAccessSignature } from './shared-access-signature.ts'

/** Manage includes the other two. */
export type AccessRight = 'Listen' | 'Send' | 'Manage'

export const ALL_RIGHTS: readonly AccessRight[] = ['Listen', 'Send', 'Manage']

/** The key that Microsoft's emulator takes as it stands. Everybody knows it: only for loopback. */
export const EMULATOR_ACCESS_KEY = 'SAS_KEY_VALUE'

/** Of a namespace: clients that know one of its keys have its rights. */
export interface AccessPolicy {
  /** `SharedAccessKeyName` of a connection string. Undefined: any name. */
  readonly name: string | undefined
  /** Texts, usually of base64, that are used as they are. */
  readonly keys: readonly string[]
  readonly rights: readonly AccessRight[]
}

/** Whether everybody knows one of the keys. */
export function includesEmulatorKey(policies: readonly AccessPolicy[]): boolean {
  return policies.some(({ keys }) => keys.includes(EMULATOR_ACCESS_KEY))
}

/** What a client may do, where, and until when. */
export interface AccessClaims {
  /** In lower case and without slashes at its ends; empty: the whole namespace. It covers what stands below it, too. */
  readonly path: string
  readonly rights: ReadonlySet<AccessRight>
  /** Epoch ms; Infinity for a connection that gave a key itself. */
  readonly expiresMs: number
  /** Of the key by which it was proved; see `AccessPolicies.isInForce`. */
  readonly key: object
}

interface AcceptedKey {
  readonly name: string | undefined
  readonly text: string
  readonly secret: SigningKey
  readonly rights: ReadonlySet<AccessRight>
}

/** The policies of a namespace, which can be replaced while clients are connected. */
export class AccessPolicies {
  #keys: readonly AcceptedKey[]

  /** @throws ERR_INVALID_OPTION */
  constructor(policies: readonly AccessPolicy[]) {
    this.#keys = acceptedKeys(policies)
  }

  /** Keys that stay keep their claims. @throws ERR_INVALID_OPTION, and the old ones stay in force */
  replace(policies: readonly AccessPolicy[]): void {
    this.#keys = acceptedKeys(policies).map(
      (key) => this.#keys.find((old) => isSameKey(old, key)) ?? key,
    )
  }

  /** Of a token such as `SharedAccessSignature sr=…&sig=…&se=…&skn=…`. @throws ERR_UNAUTHORIZED_ACCESS */
  claimsOfToken(token: string, nowMs: number): AccessClaims {
    const signature = parseSharedAccessSignature(token)
    if (signature === undefined) throw unauthorized('the token is not a shared access signature')
    const { name, signed, bytes, expiresMs, path } = signature
    const key = this.#keys.find(
      (one) =>
        (one.name === undefined || one.name === name) &&
        areEqualBytes(hmacSha256(one.secret, signed), bytes),
    )
    if (key === undefined)
      throw unauthorized('the signature of the token is wrong: no policy has this name and key')
    if (expiresMs <= nowMs) {
      // Programs look for the first words.
      const [expiry, now] = [expiresMs, nowMs].map((ms) => utcDate(ms).toISOString())
      throw unauthorized(
        `ExpiredToken: The token is expired. Expiration time: '${expiry}', server time: '${now}'`,
      )
    }
    return { path, rights: key.rights, expiresMs, key }
  }

  /** Of a client that gives the key itself. @throws ERR_UNAUTHORIZED_ACCESS */
  claimsOfKey(name: string, key: string): AccessClaims {
    const given = hmacSha256(signingKey(key === '' ? ' ' : key), name)
    const found = this.#keys.find(
      (one) =>
        (one.name === undefined || one.name === name) &&
        areEqualBytes(hmacSha256(one.secret, name), given),
    )
    if (found === undefined) throw unauthorized('no policy has this name and key')
    return { path: '', rights: found.rights, expiresMs: Infinity, key: found }
  }

  /** Whether the key of these claims is still accepted. */
  isInForce({ key }: AccessClaims): boolean {
    return this.#keys.some((one) => one === key)
  }
}

/** Whether claims give a right on the entity, or the node, of this path. */
export function permits(
  { path, rights, expiresMs }: AccessClaims,
  wanted: { readonly right: AccessRight; readonly path: string; readonly nowMs: number },
): boolean {
  if (expiresMs <= wanted.nowMs) return false
  if (!rights.has(wanted.right) && !rights.has('Manage')) return false
  const address = wanted.path.toLowerCase()
  return path === '' || address === path || address.startsWith(`${path}/`)
}

function unauthorized(reason: string): UnauthorizedAccessError {
  return new UnauthorizedAccessError(`Unauthorized access: ${reason}.`)
}

function acceptedKeys(policies: readonly AccessPolicy[]): readonly AcceptedKey[] {
  const keys = policies.flatMap(({ name, keys: texts, rights }) =>
    texts.map((text) => {
      if (text === '') throw new InvalidOptionError('the key of an access policy must not be empty')
      return { name, text, secret: signingKey(text), rights: new Set(rights) }
    }),
  )
  if (keys.length === 0) throw new InvalidOptionError('access policies need at least one key')
  return keys
}

function isSameKey(a: AcceptedKey, b: AcceptedKey): boolean {
  return (
    a.name === b.name &&
    a.text === b.text &&
    a.rights.size === b.rights.size &&
    [...a.rights].every((right) => b.rights.has(right))
  )
}
