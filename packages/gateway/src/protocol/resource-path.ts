import { BadRequestError } from '../errors/bad-request-error.ts'

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
}

/**
 * Takes a request target apart.
 *
 * An odd number of segments is a list, of the type that it ends with; an even number is one resource. Two exceptions
 * are the protocol's: an offer's link is its id alone, and the removal of a partition key is signed as its
 * container.
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
    const resourceLink = segments.slice(0, 4).join('/')
    return { raw, segments, resourceType: 'colls', resourceLink }
  }
  const isList = segments.length % 2 === 1
  const resourceType = (isList ? segments.at(-1) : segments.at(-2)) ?? ''
  const resourceLink = (isList ? segments.slice(0, -1) : segments).join('/')
  return { raw, segments, resourceType: resourceType.toLowerCase(), resourceLink }
}

/** The path of a request target as it came, without query and slashes at its ends. */
export function rawPath(target: string): string {
  const query = target.indexOf('?')
  const path = query === -1 ? target : target.slice(0, query)
  const relative = path.startsWith('/') ? path : path.replace(/^https?:\/\/[^/]*/i, '')
  // Not by a regular expression: this is done before anybody is known, and one goes through a run of slashes again and again.
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
