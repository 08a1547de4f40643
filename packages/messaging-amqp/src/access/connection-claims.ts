import type { Clock } from '@tidemark/contracts'
import { UnauthorizedAccessError } from '@tidemark/messaging'
import {
  permits,
  type AccessClaims,
  type AccessPolicies,
  type AccessRight,
} from '@tidemark/messaging/front'

/** Tokens of one connection: the official client needs two for each entity that it uses. */
const MAX_CLAIMS = 1_000

/** What the client of one connection may do: a token for each resource, or a key for everything. */
export class ConnectionClaims {
  readonly #policies: AccessPolicies
  readonly #clock: Clock
  /** By the path of the resource. A newer token takes the place of the old one. */
  readonly #claims = new Map<string, AccessClaims>()

  constructor(policies: AccessPolicies, clock: Clock) {
    this.#policies = policies
    this.#clock = clock
  }

  /** Whether the client has proved that it knows a key, at some time. */
  get isKnown(): boolean {
    return this.#claims.size > 0
  }

  /** @throws ERR_UNAUTHORIZED_ACCESS */
  putToken(token: string): void {
    this.#add(this.#policies.claimsOfToken(token, this.#clock.wallMs()))
  }

  /** @throws ERR_UNAUTHORIZED_ACCESS */
  putKey(name: string, key: string): void {
    this.#add(this.#policies.claimsOfKey(name, key))
  }

  permits(right: AccessRight, path: string): boolean {
    const wanted = { right, path, nowMs: this.#clock.wallMs() }
    const address = path.toLowerCase()
    // Of the path, of those above it, and of the whole namespace: a client may have a thousand others.
    for (let end = address.length; end > 0; end = address.lastIndexOf('/', end - 1)) {
      if (this.#permits(address.slice(0, end), wanted)) return true
    }
    return this.#permits('', wanted)
  }

  #permits(path: string, wanted: Parameters<typeof permits>[1]): boolean {
    const claims = this.#claims.get(path)
    return claims !== undefined && permits(claims, wanted) && this.#policies.isInForce(claims)
  }

  /** @throws ERR_UNAUTHORIZED_ACCESS */
  assert(right: AccessRight, path: string): void {
    if (this.permits(right, path)) return
    throw new UnauthorizedAccessError(
      `Unauthorized access. '${right}' claim(s) are required to perform this operation. Resource: '${path}'.`,
    )
  }

  /** When the next token runs out, in ms from now. Undefined: none does. */
  nextExpiryMs(): number | undefined {
    const nowMs = this.#clock.wallMs()
    let soonestMs = Infinity
    for (const { expiresMs } of this.#claims.values()) {
      if (expiresMs > nowMs) soonestMs = Math.min(soonestMs, expiresMs)
    }
    return soonestMs === Infinity ? undefined : soonestMs - nowMs
  }

  #add(claims: AccessClaims): void {
    if (!this.#claims.has(claims.path) && this.#claims.size >= MAX_CLAIMS) {
      throw new UnauthorizedAccessError(
        `Unauthorized access: a connection has at most ${MAX_CLAIMS} tokens.`,
      )
    }
    this.#claims.set(claims.path, claims)
  }
}
