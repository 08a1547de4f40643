import { ProtocolViolationError } from '../errors/protocol-violation-error.ts'
import { endOfValue, itemOffsets } from '../values/scan-values.ts'
import * as code from '../values/type-codes.ts'

const DECODE_ERROR = 'amqp:decode-error'
export const TRANSFER = 0x14

/** What a field may be; with `!` it must be there. */
type FieldType = PlainType | `${PlainType}!`
type PlainType =
  | keyof typeof TYPE_CODES
  | 'any'
  | 'source'
  | 'target'
  | 'error'
  | 'state'
  | 'outcome'

const TYPE_CODES = {
  boolean: new Set([code.TRUE, code.FALSE, code.BOOLEAN]),
  ubyte: new Set([code.UBYTE]),
  ushort: new Set([code.USHORT]),
  uint: new Set([code.UINT, code.SMALL_UINT, code.UINT_0]),
  ulong: new Set([code.ULONG, code.SMALL_ULONG, code.ULONG_0]),
  binary: new Set([code.BINARY_8, code.BINARY_32]),
  string: new Set([code.STRING_8, code.STRING_32]),
  symbol: new Set([code.SYMBOL_8, code.SYMBOL_32]),
  symbols: new Set([code.SYMBOL_8, code.SYMBOL_32, code.ARRAY_8, code.ARRAY_32]),
  map: new Set([code.MAP_8, code.MAP_32]),
  list: new Set([code.LIST_0, code.LIST_8, code.LIST_32]),
} as const

type Fields = readonly FieldType[]

/** What a client may send in the AMQP layer, by its code (AMQP 1.0, part 2, section 2.7). */
const AMQP_LAYER: ReadonlyMap<number, Fields> = new Map<number, Fields>([
  [
    0x10, // open
    [
      'string!',
      ...(['string', 'uint', 'ushort', 'uint', 'symbols'] as const),
      ...(['symbols', 'symbols', 'symbols', 'map'] as const),
    ],
  ],
  [0x11, ['ushort', 'uint!', 'uint!', 'uint!', 'uint', 'symbols', 'symbols', 'map']], // begin
  [
    0x12, // attach
    [
      ...(['string!', 'uint!', 'boolean!', 'ubyte', 'ubyte', 'source', 'target'] as const),
      ...(['map', 'boolean', 'uint', 'ulong', 'symbols', 'symbols', 'map'] as const),
    ],
  ],
  [
    0x13, // flow
    [
      ...(['uint', 'uint!', 'uint!', 'uint!', 'uint', 'uint', 'uint', 'uint'] as const),
      ...(['boolean', 'boolean', 'map'] as const),
    ],
  ],
  [
    TRANSFER,
    [
      ...(['uint!', 'uint', 'binary', 'uint', 'boolean', 'boolean', 'ubyte'] as const),
      ...(['state', 'boolean', 'boolean', 'boolean'] as const),
    ],
  ],
  [0x15, ['boolean!', 'uint!', 'uint', 'boolean', 'state', 'boolean']], // disposition
  [0x16, ['uint!', 'boolean', 'error']], // detach
  [0x17, ['error']], // end
  [0x18, ['error']], // close
])

const SASL_LAYER: ReadonlyMap<number, Fields> = new Map<number, Fields>([
  [0x41, ['symbol!', 'binary', 'string']], // sasl-init
  [0x43, ['binary!']], // sasl-response
])

const SOURCES: ReadonlyMap<number, Fields> = new Map<number, Fields>([
  [
    0x28,
    [
      ...(['any', 'uint', 'symbol', 'uint', 'boolean', 'map', 'symbol', 'map'] as const),
      ...(['any', 'symbols', 'symbols'] as const),
    ],
  ],
])

const TARGETS: ReadonlyMap<number, Fields> = new Map<number, Fields>([
  [0x30, ['symbols']], // coordinator
  [0x29, ['any', 'uint', 'symbol', 'uint', 'boolean', 'map', 'symbols']],
])

const ERRORS: ReadonlyMap<number, Fields> = new Map<number, Fields>([
  [0x1d, ['symbol!', 'string', 'map']],
])

const OUTCOMES: ReadonlyMap<number, Fields> = new Map<number, Fields>([
  [0x24, []], // accepted
  [0x25, ['error']], // rejected
  [0x26, []], // released
  [0x27, ['boolean', 'boolean', 'map']], // modified
])

/** How far a delivery is, and its outcomes, also within a transaction. */
const STATES: ReadonlyMap<number, Fields> = new Map<number, Fields>([
  ...OUTCOMES,
  [0x23, ['uint!', 'ulong!']], // received
  [0x34, ['binary!', 'outcome']], // transactional-state
])

/** Symbols that stand for the codes above, which nobody uses. */
const NAMES: ReadonlyMap<string, number> = new Map([
  ['amqp:source:list', 0x28],
  ['amqp:target:list', 0x29],
  ['amqp:coordinator:list', 0x30],
  ['amqp:error:list', 0x1d],
  ['amqp:received:list', 0x23],
  ['amqp:accepted:list', 0x24],
  ['amqp:rejected:list', 0x25],
  ['amqp:released:list', 0x26],
  ['amqp:modified:list', 0x27],
  ['amqp:transactional-state:list', 0x34],
])

export interface Performative {
  readonly code: number
  /** Behind it: where a payload begins. */
  readonly end: number
}

/**
 * Reads that a frame has a performative that a client may send, and that each of its fields has the type that AMQP gives it.
 * rhea takes a field as it comes, and fails later where nobody catches it.
 *
 * @throws ERR_PROTOCOL_VIOLATION, ERR_MALFORMED_MESSAGE
 */
export function checkPerformative(
  bytes: Buffer,
  {
    at,
    end,
    layer,
  }: { readonly at: number; readonly end: number; readonly layer: 'amqp' | 'sasl' },
): Performative {
  const known = layer === 'amqp' ? AMQP_LAYER : SASL_LAYER
  if (bytes[at] !== code.DESCRIBED) violated('a frame has no performative')
  const listAt = endOfValue(bytes, at + 1, end)
  const performativeCode = numberAt(bytes, at + 1)
  const fields = performativeCode === undefined ? undefined : known.get(performativeCode)
  if (performativeCode === undefined || fields === undefined) {
    violated('a frame has a performative that clients do not send')
  }
  return { code: performativeCode, end: checkFields(bytes, { at: listAt, end, fields }) }
}

interface Place {
  readonly at: number
  readonly end: number
}

/** The end of the list. */
function checkFields(
  bytes: Buffer,
  { at, end, fields }: Place & { readonly fields: Fields },
): number {
  if (!TYPE_CODES.list.has(bytes[at] ?? -1)) violated('a described list is none', DECODE_ERROR)
  const offsets = itemOffsets(bytes, at, end)
  for (const [index, type] of fields.entries()) {
    const fieldAt = index < offsets.length - 1 ? offsets[index]! : undefined
    if (fieldAt === undefined || bytes[fieldAt] === code.NULL) {
      if (type.endsWith('!')) violated('a field that must be there is missing', DECODE_ERROR)
    } else {
      checkField(bytes, { at: fieldAt, end: offsets[index + 1]!, type: plainType(type) })
    }
  }
  return offsets.at(-1)!
}

function checkField(bytes: Buffer, { at, end, type }: Place & { readonly type: PlainType }): void {
  switch (type) {
    case 'any':
      return
    case 'source':
    case 'target':
      checkDescribed(bytes, { at, end, known: type === 'source' ? SOURCES : TARGETS })
      return
    case 'error':
      if (!checkDescribed(bytes, { at, end, known: ERRORS }))
        violated('an error is none', DECODE_ERROR)
      return
    case 'state':
    case 'outcome':
      if (!checkDescribed(bytes, { at, end, known: type === 'state' ? STATES : OUTCOMES }))
        violated('a delivery has a state that is not offered', 'amqp:not-implemented')
      return
    default:
      if (!TYPE_CODES[type].has(bytes[at]!)) violated('a field has a wrong type', DECODE_ERROR)
  }
}

/** False when it is none that is known. */
function checkDescribed(
  bytes: Buffer,
  { at, end, known }: Place & { readonly known: ReadonlyMap<number, Fields> },
): boolean {
  if (bytes[at] !== code.DESCRIBED) return false
  const listAt = endOfValue(bytes, at + 1, end)
  const descriptor = numberAt(bytes, at + 1) ?? NAMES.get(symbolAt(bytes, at + 1, listAt))
  const fields = descriptor === undefined ? undefined : known.get(descriptor)
  if (fields === undefined) return false
  checkFields(bytes, { at: listAt, end, fields })
  return true
}

/** Of a descriptor. */
function numberAt(bytes: Buffer, at: number): number | undefined {
  if (bytes[at] === code.SMALL_ULONG) return bytes[at + 1]
  return bytes[at] === code.ULONG ? Number(bytes.readBigUInt64BE(at + 1)) : undefined
}

function symbolAt(bytes: Buffer, at: number, end: number): string {
  return bytes.toString('latin1', at + (bytes[at] === code.SYMBOL_8 ? 2 : 5), end)
}

function plainType(type: FieldType): PlainType {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Without its mark it is a plain type.
  return type.replace('!', '') as PlainType
}

function violated(what: string, condition?: string): never {
  throw new ProtocolViolationError(`The client broke the protocol: ${what}.`, condition)
}
