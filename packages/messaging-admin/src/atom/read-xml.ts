import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { InvalidRequestError } from '../errors/invalid-request-error.ts'
import { element, type XmlElement } from './xml-element.ts'

/** Far above those of a real request. */
const MAX_DEPTH = 20
/** Also of a rule with as many properties as a rule may have. */
const MAX_PARTS = 10_000

const TEXT = '#text'
const CDATA = '#cdata'
const ATTRIBUTES = ':@'

/** The names of entities that every document has. A document cannot define others: it must have no DOCTYPE. */
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
}

const PARSER = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  removeNSPrefix: true,
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  processEntities: false,
  cdataPropName: CDATA,
  ignoreDeclaration: true,
  ignorePiTags: true,
  maxNestedTags: MAX_DEPTH,
})

/**
 * The root of a document. Text beside elements is left out, and so are comments.
 *
 * @throws ERR_INVALID_REQUEST for what is not well-formed, has a DOCTYPE, or is above a limit
 */
export function readXml(text: string): XmlElement {
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text)) throw invalid('it must not have a DOCTYPE')
  // Space counts too: what follows it may be an attribute without a value.
  if ((text.match(/<|=|\s+/g)?.length ?? 0) > MAX_PARTS) {
    throw invalid(`it has more than ${MAX_PARTS} tags and attributes`)
  }
  const [root, ...others] = parsed(text).flatMap((node) => elementOf(node) ?? [])
  if (root === undefined || others.length > 0) throw invalid('it must have one root element')
  return root
}

function parsed(text: string): readonly unknown[] {
  const problem = 'it is not well-formed, or nested too deep'
  try {
    // First, because it stops where the elements are too deep.
    const nodes: unknown = PARSER.parse(text)
    if (XMLValidator.validate(text) === true && Array.isArray(nodes)) return nodes
  } catch (cause) {
    throw invalid(problem, { cause })
  }
  throw invalid(problem)
}

/** The parser's node: an object with one member for the element, and one for its attributes. Undefined for text. */
function elementOf(node: unknown): XmlElement | undefined {
  const name = nameOf(node)
  if (name === undefined || name === TEXT || name === CDATA) return undefined
  const nodes = membersOf(node, name)
  const children = nodes.flatMap((child) => elementOf(child) ?? [])
  const attributes = attributesOf(node)
  return children.length > 0
    ? element(name, children, attributes)
    : element(name, nodes.map((child) => textOf(child)).join(''), attributes)
}

function nameOf(node: unknown): string | undefined {
  if (typeof node !== 'object' || node === null) return undefined
  return Object.keys(node).find((key) => key !== ATTRIBUTES)
}

function membersOf(node: unknown, name: string): readonly unknown[] {
  const members: unknown =
    typeof node === 'object' && node !== null ? Reflect.get(node, name) : undefined
  return Array.isArray(members) ? members : []
}

function attributesOf(node: unknown): Readonly<Record<string, string>> {
  const given: unknown =
    typeof node === 'object' && node !== null ? Reflect.get(node, ATTRIBUTES) : undefined
  const entries = Object.entries(given ?? {})
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'string' ? decoded(value) : '']),
  )
}

function textOf(node: unknown): string {
  const name = nameOf(node)
  if (name === CDATA)
    return membersOf(node, CDATA)
      .map((part) => rawText(part))
      .join('')
  return decoded(rawText(node))
}

function rawText(node: unknown): string {
  const text: unknown =
    typeof node === 'object' && node !== null ? Reflect.get(node, TEXT) : undefined
  return typeof text === 'string' ? text : ''
}

function decoded(text: string): string {
  return text.replaceAll(/&([^;&]{0,32});?/g, (reference: string, name: string) => {
    const known = Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : characterOf(name)
    if (known === undefined || !reference.endsWith(';')) {
      throw invalid(`${JSON.stringify(reference)} is not a character`)
    }
    return known
  })
}

function characterOf(name: string): string | undefined {
  const digits = /^#(?:x([\da-f]{1,6})|(\d{1,7}))$/i.exec(name)
  if (digits === null) return undefined
  const code = digits[1] === undefined ? Number(digits[2]) : Number.parseInt(digits[1], 16)
  return code > 0 && code <= 0x10_ff_ff ? String.fromCodePoint(code) : undefined
}

function invalid(problem: string, options?: ErrorOptions): InvalidRequestError {
  return new InvalidRequestError(`The body must be XML: ${problem}.`, options)
}
