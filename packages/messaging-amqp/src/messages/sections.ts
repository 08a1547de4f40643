import { MalformedMessageError } from '../errors/malformed-message-error.ts'
import { endOfValue, itemOffsets } from '../values/scan-values.ts'
import * as code from '../values/type-codes.ts'

/**
 * The codes of a message's sections, which stand in this order (AMQP 1.0, part 3, section 3.2). rhea, and so the official
 * client for JavaScript, writes a footer before the body.
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

/** Where the parts of an encoded message are. */
export interface Sections {
  readonly header: Offsets | undefined
  readonly messageAnnotations: Offsets | undefined
  readonly properties: Offsets | undefined
  readonly applicationProperties: Offsets | undefined
  /** Where the properties begin, or what there is behind their place. What stands before is never kept. */
  readonly keptStart: number
  readonly bodyStart: number
  readonly bodyEnd: number
  readonly bodyCode: number | undefined
  /** Offsets of the values of the body's sections. */
  readonly bodyValues: Offsets
}

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

/** Reads where everything is, and that it is as AMQP demands. @throws ERR_MALFORMED_MESSAGE */
export function readSections(bytes: Buffer, start: number, end: number): Sections {
  const found: Mutable<Sections> = {
    header: undefined,
    messageAnnotations: undefined,
    properties: undefined,
    applicationProperties: undefined,
    keptStart: end,
    bodyStart: end,
    bodyEnd: end,
    bodyCode: undefined,
    bodyValues: [],
  }
  const bodyValues: number[] = []
  let before = 0
  let hasFooter = false
  for (let at = start; at < end;) {
    const section = sectionAt(bytes, at, end)
    assertNext(section.code, { before, hasFooter, bodyCode: found.bodyCode })
    if (section.code >= PROPERTIES && found.keptStart === end) found.keptStart = at
    before = section.code
    if (isBody(section.code)) {
      if (found.bodyCode === undefined) found.bodyStart = at
      found.bodyCode = section.code
      bodyValues.push(section.valueAt)
      at = endOfBodyValue(bytes, section, end)
      found.bodyEnd = at
    } else {
      const items = itemsOf(bytes, section, end)
      at = items.at(-1)!
      if (section.code === HEADER) found.header = items
      else if (section.code === MESSAGE_ANNOTATIONS) found.messageAnnotations = items
      else if (section.code === PROPERTIES) found.properties = items
      else if (section.code === APPLICATION_PROPERTIES) found.applicationProperties = items
      else if (section.code === FOOTER) hasFooter = true
    }
  }
  return { ...found, bodyValues }
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

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

interface Read {
  /** Code of the section before; 0: there is none. */
  readonly before: number
  readonly hasFooter: boolean
  readonly bodyCode: number | undefined
}

/** Each section once at most; a body may be several of data, or several sequences. */
function assertNext(next: number, { before, hasFooter, bodyCode }: Read): void {
  const isNext = isBody(next)
    ? bodyCode === undefined || (next === before && next !== VALUE)
    : next > before && !(next === FOOTER && hasFooter)
  if (!isNext) {
    throw new MalformedMessageError(
      `a section 0x${next.toString(16)} must not follow a section 0x${before.toString(16)}`,
    )
  }
}

function isBody(sectionCode: number): boolean {
  return sectionCode === DATA || sectionCode === SEQUENCE || sectionCode === VALUE
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

function notASection(): MalformedMessageError {
  return new MalformedMessageError('a message has something that is no section of one')
}

function wrongValue(sectionCode: number): MalformedMessageError {
  return new MalformedMessageError(
    `a section 0x${sectionCode.toString(16)} has a value of a wrong type`,
  )
}
