import { MalformedMessageError } from '../errors/malformed-message-error.ts'
import { endOfValue, itemOffsets } from '../values/scan-values.ts'
import * as code from '../values/type-codes.ts'

/**
 * The codes of a message's sections, which should stand in this order (AMQP 1.0, part 3, section 3.2). Clients are read in any: rhea,
 * and so the official client for JavaScript, writes a footer before the body, and an old client for Python its properties late.
 */
export const HEADER = 0x70
export const DELIVERY_ANNOTATIONS = 0x71
export const MESSAGE_ANNOTATIONS = 0x72
export const PROPERTIES = 0x73
export const APPLICATION_PROPERTIES = 0x74
export const DATA = 0x75
export const SEQUENCE = 0x76
export const VALUE = 0x77
export const FOOTER = 0x78

const SECTION_NAMES: ReadonlyMap<string, number> = new Map([
  ['amqp:header:list', HEADER],
  ['amqp:delivery-annotations:map', DELIVERY_ANNOTATIONS],
  ['amqp:message-annotations:map', MESSAGE_ANNOTATIONS],
  ['amqp:properties:list', PROPERTIES],
  ['amqp:application-properties:map', APPLICATION_PROPERTIES],
  ['amqp:data:binary', DATA],
  ['amqp:amqp-sequence:list', SEQUENCE],
  ['amqp:amqp-value:*', VALUE],
  ['amqp:footer:map', FOOTER],
])

/** Offsets of a list's or map's items, and behind them the one where it ends. */
export type Offsets = readonly number[]

/** From the first byte of a section, or of several, to the one behind. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Where the parts of an encoded message are. */
export interface Sections {
  readonly header: Offsets | undefined
  readonly deliveryAnnotations: Offsets | undefined
  readonly messageAnnotations: Offsets | undefined
  readonly properties: Offsets | undefined
  readonly applicationProperties: Offsets | undefined
  readonly footer: Offsets | undefined
  /** Those of the body together; the header and the annotations are none: they are written anew for each delivery. */
  readonly kept: ReadonlyMap<KeptSection, Span>
  /** Whether the kept ones stand one behind the other in the order of their codes. */
  readonly isInOrder: boolean
  readonly bodyCode: number | undefined
  /** Offsets of the values of the body's sections. */
  readonly bodyValues: Offsets
}

/** In the order in which they are kept. */
export const KEPT_SECTIONS = ['properties', 'applicationProperties', 'body', 'footer'] as const
export type KeptSection = (typeof KEPT_SECTIONS)[number]

/** A section's code, and where its value begins. */
export interface Section {
  readonly code: number
  readonly valueAt: number
}

/** The section that begins at `at`. @throws ERR_MALFORMED_MESSAGE */
export function sectionAt(bytes: Buffer, at: number, end: number): Section {
  // What every library writes.
  if (end - at > 3 && bytes[at] === code.DESCRIBED && bytes[at + 1] === code.SMALL_ULONG) {
    const sectionCode = bytes[at + 2]!
    if (sectionCode >= HEADER && sectionCode <= FOOTER)
      return { code: sectionCode, valueAt: at + 3 }
  }
  if (bytes[at] !== code.DESCRIBED) throw notASection()
  const valueAt = endOfValue(bytes, at + 1, end)
  return { code: namedSection(bytes.subarray(at + 1, valueAt)), valueAt }
}

/** Reads where everything is: each section once at most, a body of several in one piece. @throws ERR_MALFORMED_MESSAGE */
export function readSections(bytes: Buffer, start: number, end: number): Sections {
  const lists = new Map<number, Offsets>()
  const kept = new Map<KeptSection, Span>()
  const bodyValues: number[] = []
  let bodyCode: number | undefined
  let isInOrder = true
  let [last, lastEnd] = [-1, start]
  for (let at = start; at < end;) {
    const section = sectionAt(bytes, at, end)
    const { code: sectionCode } = section
    const name = KEPT_NAMES.get(sectionCode)
    let next: number
    if (name === 'body') {
      const body = kept.get(name)
      const goesOn = sectionCode !== VALUE && sectionCode === bodyCode && body?.end === at
      if (body !== undefined && !goesOn) throw isDouble(sectionCode)
      bodyCode = sectionCode
      bodyValues.push(section.valueAt)
      next = endOfBodyValue(bytes, section, end)
      kept.set(name, { start: body?.start ?? at, end: next })
    } else {
      if (lists.has(sectionCode)) throw isDouble(sectionCode)
      const items = itemsOf(bytes, section, end)
      lists.set(sectionCode, items)
      next = items.at(-1)!
      if (name !== undefined) kept.set(name, { start: at, end: next })
    }
    if (name !== undefined) {
      const place = KEPT_SECTIONS.indexOf(name)
      isInOrder &&= place >= last && (last < 0 || lastEnd === at)
      last = place
      lastEnd = next
    }
    at = next
  }
  return {
    header: lists.get(HEADER),
    deliveryAnnotations: lists.get(DELIVERY_ANNOTATIONS),
    messageAnnotations: lists.get(MESSAGE_ANNOTATIONS),
    properties: lists.get(PROPERTIES),
    applicationProperties: lists.get(APPLICATION_PROPERTIES),
    footer: lists.get(FOOTER),
    kept,
    isInOrder,
    bodyCode,
    bodyValues,
  }
}

const KEPT_NAMES: ReadonlyMap<number, KeptSection> = new Map([
  [PROPERTIES, 'properties'],
  [APPLICATION_PROPERTIES, 'applicationProperties'],
  [DATA, 'body'],
  [SEQUENCE, 'body'],
  [VALUE, 'body'],
  [FOOTER, 'footer'],
])

/** @throws ERR_MALFORMED_MESSAGE */
export function itemsOf(
  bytes: Buffer,
  { code: sectionCode, valueAt }: Section,
  end: number,
): Offsets {
  const isList = sectionCode === HEADER || sectionCode === PROPERTIES
  const typeCode = bytes[valueAt]
  const isMap = typeCode === code.MAP_8 || typeCode === code.MAP_32
  if (isList === isMap) throw wrongValue(sectionCode)
  return itemOffsets(bytes, valueAt, end)
}

function endOfBodyValue(
  bytes: Buffer,
  { code: sectionCode, valueAt }: Section,
  end: number,
): number {
  const typeCode = bytes[valueAt]
  const isRight =
    sectionCode === DATA
      ? typeCode === code.BINARY_8 || typeCode === code.BINARY_32
      : sectionCode === VALUE ||
        typeCode === code.LIST_0 ||
        typeCode === code.LIST_8 ||
        typeCode === code.LIST_32
  if (!isRight) throw wrongValue(sectionCode)
  return endOfValue(bytes, valueAt, end)
}

/** By an encoded descriptor that is not the usual one. */
function namedSection(descriptor: Buffer): number {
  const [typeCode] = descriptor
  if (typeCode === code.ULONG) {
    const value = descriptor.readBigUInt64BE(1)
    if (value >= HEADER && value <= FOOTER) return Number(value)
  } else if (typeCode === code.SYMBOL_8 || typeCode === code.SYMBOL_32) {
    const name = descriptor.toString('latin1', typeCode === code.SYMBOL_8 ? 2 : 5)
    const sectionCode = SECTION_NAMES.get(name)
    if (sectionCode !== undefined) return sectionCode
  }
  throw notASection()
}

function isDouble(sectionCode: number): MalformedMessageError {
  return new MalformedMessageError(
    `a message has a section 0x${sectionCode.toString(16)} twice, or two bodies`,
  )
}

function notASection(): MalformedMessageError {
  return new MalformedMessageError('a message has something that is no section of one')
}

function wrongValue(sectionCode: number): MalformedMessageError {
  return new MalformedMessageError(
    `a section 0x${sectionCode.toString(16)} has a value of a wrong type`,
  )
}
