import { InvalidRequestError } from '../errors/invalid-request-error.ts'
import { isoDate } from '../platform/iso-date.ts'
import { readXml } from './read-xml.ts'
import { element, type XmlElement } from './xml-element.ts'

const ATOM = 'http://www.w3.org/2005/Atom'
const SERVICE_BUS = 'http://schemas.microsoft.com/netservices/2010/10/servicebus/connect'
const SCHEMA_INSTANCE = 'http://www.w3.org/2001/XMLSchema-instance'

/** A resource in ATOM: where it is, and its description. */
export interface Entry {
  readonly url: string
  readonly title: string
  /** Of the namespace. */
  readonly author: string
  readonly publishedMs: number | undefined
  readonly updatedMs: number
  readonly description: XmlElement
}

export interface Feed {
  readonly url: string
  readonly title: string
  readonly updatedMs: number
  /** Of the next page, if there is one. */
  readonly next: string | undefined
  readonly entries: readonly Entry[]
}

/** A description: the elements of a resource's properties, in the order that the service has. */
export function description(
  name: string,
  content: readonly (XmlElement | undefined)[],
): XmlElement {
  return element(name, content, { xmlns: SERVICE_BUS, 'xmlns:i': SCHEMA_INSTANCE })
}

/** The element of a property; undefined for one without a value. */
export function property(
  name: string,
  value: string | number | boolean | undefined,
): XmlElement | undefined {
  return value === undefined ? undefined : element(name, String(value))
}

/** As `property`, of a time. */
export function instant(name: string, ms: number | undefined): XmlElement | undefined {
  return ms === undefined ? undefined : element(name, isoDate(ms))
}

export function entryElement(entry: Entry): XmlElement {
  return element(
    'entry',
    [
      element('id', entry.url),
      element('title', entry.title, { type: 'text' }),
      instant('published', entry.publishedMs),
      instant('updated', entry.updatedMs),
      element('author', [element('name', entry.author)]),
      element('link', '', { rel: 'self', href: entry.url }),
      element('content', [entry.description], { type: 'application/xml' }),
    ],
    { xmlns: ATOM },
  )
}

export function feedElement({ url, title, updatedMs, next, entries }: Feed): XmlElement {
  return element(
    'feed',
    [
      element('title', title, { type: 'text' }),
      element('id', url),
      instant('updated', updatedMs),
      element('link', '', { rel: 'self', href: url }),
      next === undefined ? undefined : element('link', '', { rel: 'next', href: next }),
      ...entries.map((entry) => entryElement(entry)),
    ],
    { xmlns: ATOM },
  )
}

/** The description in an entry that a client sends. @throws ERR_INVALID_REQUEST */
export function readEntry(text: string): XmlElement {
  const root = readXml(text)
  const [content, ...others] = root.children.filter(({ name }) => name === 'content')
  if (root.name === 'entry' && content?.children.length === 1 && others.length === 0) {
    return content.children[0]!
  }
  throw new InvalidRequestError('The body must be an ATOM entry with one description as content.')
}
