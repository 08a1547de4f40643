import { describeValue } from '@tidemark/contracts/internal'
import { withoutSlashes } from '@tidemark/messaging/front'
import { InvalidRequestError } from '../errors/invalid-request-error.ts'
import type { XmlElement } from '../atom/xml-element.ts'

const ADDRESS = /^(?:sb|https?):\/\/[^/?#]*\/?([^?#]*)/i

/**
 * The path of a queue or topic, which clients give as an address such as `sb://localhost:5300/orders`. The host means nothing:
 * this namespace has one name for each way to reach it.
 *
 * @throws ERR_INVALID_REQUEST
 */
export function readDestination({ name, text }: XmlElement): string {
  const given = text.trim()
  const address = ADDRESS.exec(given)
  if (address === null) return given
  const path = withoutSlashes(decodedPath(address[1] ?? '') ?? '')
  if (path !== '') return path
  throw new InvalidRequestError(
    `${name} must be the address of a queue or topic, got ${describeValue(text)}.`,
  )
}

/** The address that clients know a destination by. `host` is where they reach this namespace. */
export function destinationAddress(path: string | undefined, host: string): string | undefined {
  return path === undefined ? undefined : `sb://${host}/${path}`
}

/** Without percent signs; undefined for what was not encoded rightly. */
export function decodedPath(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}
