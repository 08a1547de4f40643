import { UnauthorizedAccessError } from '@tidemark/messaging'
import {
  permits,
  withoutSlashes,
  type AccessPolicies,
  type AccessRight,
} from '@tidemark/messaging/front'
import { decodedPath } from '../descriptions/destination.ts'
import type { ResourceAddress } from '../resources/resource-address.ts'

/**
 * What the service asks for: Listen for the rules of a subscription, Manage for everything else ("Rights required for Service
 * Bus operations" in its documentation of shared access signatures).
 */
export function rightFor(address: ResourceAddress | undefined): AccessRight {
  return address?.kind === 'rule' || address?.kind === 'rules' ? 'Listen' : 'Manage'
}

/** Checks that a token gives a right on the resource at this path of a URL. @throws ERR_UNAUTHORIZED_ACCESS */
export function authorize(
  policies: AccessPolicies,
  {
    token,
    rawPath,
    right,
    nowMs,
  }: {
    readonly token: string | undefined
    readonly rawPath: string
    readonly right: AccessRight
    readonly nowMs: number
  },
): void {
  if (token === undefined) {
    throw new UnauthorizedAccessError(
      'Unauthorized access: the request has no Authorization header.',
    )
  }
  const claims = policies.claimsOfToken(token, nowMs)
  // Clients sign the path as they send it, or without percent signs.
  const paths = [rawPath, decodedPath(rawPath) ?? rawPath]
  const isPermitted = paths.some((path) =>
    permits(claims, { right, path: withoutSlashes(path), nowMs }),
  )
  if (isPermitted) return
  throw new UnauthorizedAccessError(
    `Unauthorized access: the token does not give ${right} on this resource.`,
  )
}
