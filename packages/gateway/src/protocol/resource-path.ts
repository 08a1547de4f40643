import { BadRequestError } from '@tidemark/contracts'

/** A request's path, and what of it the signature covers. */
export interface ResourcePath {
  /** As it came, without query and slashes at its ends. */
  readonly raw: string
  /** Percent-decoded once. */
  readonly segments: readonly string[]
  /** Lower case, as `docs`; empty for the account. */
  readonly resourceType: string
  /** Names keep their case: `dbs/a/colls/b`; empty for the account and its lists. */
  readonly resourceLink: string
  /**
   * What the signature covers instead where every name has the form of a `_rid`: the last of them in lower case. By
   * which of the two a request is signed it says whether it means names or `_rid`s. Undefined for other paths.
   */
  readonly ridLink?: string | undefined
  /** `_rid` of the container, once a path of `_rid`s was turned into names; its document is still named by `_rid`. */
  readonly collectionRid?: string | undefined
}

/** Of a database, a container, and what is in a container: base64 of 4, 8 and 16 bytes, with `-` for `/`. */
const RID_FORMS = [/^[A-Za-z\d+-]{6}==$/, /^[A-Za-z\d+-]{11}=$/, /^[A-Za-z\d+-]{22}==$/]

/**
 * Takes a request target apart.
 *
 * An odd number of segments is a list, of the type that it ends with; an even number is one resource. Two exceptions
 * are the protocol's: an offer's link is its id alone, and the removal of a partition key is signed as its
 * container. The forms of `_rid`s, and what is signed of them, are those of `PathsHelper` and `AuthorizationHelper` of
 * the service's .NET client.
 *
 * @throws ERR_BAD_REQUEST when the percent-encoding is broken
 */
export function resourcePath(target: string): ResourcePath {
  const raw = rawPath(target)
  const segments = raw === '' ? [] : raw.split('/').map(decoded)
  const [first = ''] = segments
  if (first === 'offers') {
    // With `_self` in place of the id clients come to `/offers/offers/{id}/`, and sign what stands for the id.
    const isByLink = segments.length > 2 && /\/(?:\?|$)/.test(target)
    const resourceLink = segments.slice(1).join('/').toLowerCase() + (isByLink ? '/' : '')
    return { raw, segments, resourceType: 'offers', resourceLink }
  }
  if (segments.length === 6 && segments[4] === 'operations') {
    const container = segments.slice(0, 4)
    const resourceLink = container.join('/')
    return { raw, segments, resourceType: 'colls', resourceLink, ridLink: ridLinkOf(container) }
  }
  const isList = segments.length % 2 === 1
  const resourceType = (isList ? segments.at(-1) : segments.at(-2)) ?? ''
  const signed = isList ? segments.slice(0, -1) : segments
  const resourceLink = signed.join('/')
  const ridLink = ridLinkOf(signed)
  return { raw, segments, resourceType: resourceType.toLowerCase(), resourceLink, ridLink }
}

function ridLinkOf(segments: readonly string[]): string | undefined {
  if (segments[0] !== 'dbs' || segments.length > 2 * RID_FORMS.length) return undefined
  const names = segments.filter((_, index) => index % 2 === 1)
  const areRids = names.every((name, level) => RID_FORMS[level]?.test(name))
  return areRids ? names.at(-1)?.toLowerCase() : undefined
}

/** The path of a request target as it came, without query and slashes at its ends. */
export function rawPath(target: string): string {
  const query = target.indexOf('?')
  const path = query === -1 ? target : target.slice(0, query)
  const relative = path.startsWith('/') ? path : path.replace(/^https?:\/\/[^/]*/i, '')
  // Without a regular expression, which would scan a run of slashes again and again: this runs before the client is authorized.
  let start = 0
  let end = relative.length
  while (start < end && relative[start] === '/') start += 1
  while (end > start && relative[end - 1] === '/') end -= 1
  return relative.slice(start, end)
}

function decoded(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch (cause) {
    throw new BadRequestError('the percent-encoding of the path is broken', { cause })
  }
}
