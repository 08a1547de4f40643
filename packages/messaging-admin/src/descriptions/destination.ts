import { describeValue } from '@tidemark/contracts/internal'
import { withoutSlashes } from '@tidemark/messaging/front'
import { InvalidRequestError } from '../errors/invalid-request-error.ts'
import type { XmlElement } from '../atom/xml-element.ts'

const ADDRESS = /^(?:sb|https?):\/\/[^/?#]*\/?([^?#]*)/i
/** Far above the longest path. */
const MAX_ADDRESS_CHARACTERS = 2048

/**
 * The path of a queue or topic, which clients give as an address such as `sb://localhost:5300/orders`. The host means nothing:
 * this namespace has one name for each way to reach it.
 *
 * @throws ERR_INVALID_REQUEST
 */
export function readDestination({ name, text }: XmlElement): string {
  const path = text.length > MAX_ADDRESS_CHARACTERS ? undefined : pathOf(text.trim())
  if (path !== undefined) return path
  throw new InvalidRequestError(
    `${name} must be the address of a queue or topic, got ${describeValue(text)}.`,
  )
}

/**
 * How a destination is shown: as it was given, while that leads there, else as the URL of the entity. `origin` is where the
 * client reaches this namespace.
 */
export function shownDestination(
  path: string | undefined,
  { given, origin }: { readonly given: string | undefined; readonly origin: string },
): string | undefined {
  if (path === undefined) return undefined
  const isThere = given !== undefined && pathOf(given)?.toLowerCase() === path.toLowerCase()
  return isThere ? given : `${origin}/${encodeURI(path)}`
}

/** Undefined for an address without a path. */
function pathOf(given: string): string | undefined {
  const address = ADDRESS.exec(given)
  if (address === null) return given
  const path = withoutSlashes(decodedPath(address[1] ?? '') ?? '')
  return path === '' ? undefined : path
}

/** Without percent signs; undefined for what was not encoded rightly. */
export function decodedPath(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}
