import rhea, { type Typed } from 'rhea'
import type { StoredValue } from '@tidemark/messaging/front'
import { typedValueAt } from '../values/typed-values.ts'
import { ValueWriter } from '../values/value-writer.ts'
import { writeStoredValue } from '../values/write-stored-value.ts'

const { types } = rhea

/** A value with its AMQP type, as rhea takes it in bodies. */
export type WireValue = Typed

/** Of most properties; the writer grows. */
const VALUE_BYTES = 64
const LONG = 0x81
const TIMESTAMP = 0x83
const STRING = 0xb1

/** Of a number of 32 bits. */
export const MAX_INT: number = 2 ** 31 - 1

export function int(value: number): WireValue {
  return types.wrap_int(value)
}

export function longs(values: readonly number[]): WireValue {
  return types.wrap_array(values, LONG, undefined)
}

/** Epoch ms. */
export function timestamp(epochMs: number): WireValue {
  return types.wrap_timestamp(epochMs)
}

export function timestamps(epochMs: readonly number[]): WireValue {
  return types.wrap_array(epochMs, TIMESTAMP, undefined)
}

/** Of a lock token, in the order of its digits. */
export function uuid(token: string): WireValue {
  return types.wrap_uuid(Buffer.from(token.replaceAll('-', ''), 'hex'))
}

export function strings(values: readonly string[]): WireValue {
  return types.wrap_array(values, STRING, undefined)
}

export function binary(bytes: Uint8Array): WireValue {
  return types.wrap_binary(bytes)
}

/** `descriptor` is a ulong. */
export function describedList(descriptor: number, items: readonly unknown[]): WireValue {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rhea's declarations take and give anything here.
  return types.described(types.wrap_ulong(descriptor), types.wrap_list(items)) as WireValue
}

/** A map of properties as they are stored. */
export function properties(values: Readonly<Record<string, StoredValue>>): WireValue {
  const wrapped: Record<string, WireValue> = {}
  for (const [name, value] of Object.entries(values)) {
    const writer = new ValueWriter(VALUE_BYTES)
    writeStoredValue(writer, value)
    wrapped[name] = typedValueAt(writer.written, 0)
  }
  return types.wrap_map(wrapped)
}
