import { InvalidRequestError } from '../errors/invalid-request-error.ts'
import type { XmlElement } from '../atom/xml-element.ts'

/** The versions of the API that brought elements which the first one lacks. */
const SINCE: Readonly<Record<string, string>> = {
  CorrelationFilterCount: '2024-05',
  MaxMessageSizeInKilobytes: '2021-05',
  SqlFilterCount: '2024-05',
}

/** Without what a client of this version does not know. */
export function knownTo(apiVersion: string, description: XmlElement): XmlElement {
  const children = description.children.filter(({ name }) => isKnown(name, apiVersion))
  return { ...description, children }
}

/** Refuses what came later, as the service does. @throws ERR_INVALID_REQUEST */
export function assertKnown(apiVersion: string, { children }: XmlElement): void {
  const later = children.find(({ name }) => !isKnown(name, apiVersion))
  if (later === undefined) return
  throw new InvalidRequestError(
    `${later.name} came with version ${SINCE[later.name]} of the API, and the request names ${apiVersion}.`,
  )
}

function isKnown(name: string, apiVersion: string): boolean {
  return !Object.hasOwn(SINCE, name) || apiVersion >= SINCE[name]!
}
