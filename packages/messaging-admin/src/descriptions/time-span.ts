import { describeValue } from '@tidemark/contracts/internal'
import type { StoredValue } from '@tidemark/messaging/front'
import type { XmlElement } from '../atom/xml-element.ts'
import { InvalidRequestError } from '../errors/invalid-request-error.ts'

/** A described value: this symbol, and a long of so many ticks of 100 ns. So clients for AMQP write the time spans of .NET. */
const NAME = 'com.microsoft:timespan'
const PREFIX = Buffer.concat([Buffer.from([0x00, 0xa3, NAME.length]), Buffer.from(NAME)])
const LONG = 0x81
const SMALL_LONG = 0x55
const TICKS_PER_SECOND = 10_000_000n
const DIGITS = 7

const DURATION =
  /^(-?)P(?:(\d{1,8})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,12})(?:\.(\d{1,7})\d*)?S)?)?$/

/** A duration of ISO 8601, as a message over AMQP has it. @throws ERR_INVALID_REQUEST */
export function timeSpan({ text }: XmlElement): StoredValue {
  const found = DURATION.exec(text.trim())
  if (found === null) {
    throw new InvalidRequestError(
      `A value must be a duration of ISO 8601, got ${describeValue(text)}.`,
    )
  }
  const [, sign, days = '0', hours = '0', minutes = '0', seconds = '0', fraction = ''] = found
  const whole =
    ((BigInt(days) * 24n + BigInt(hours)) * 60n + BigInt(minutes)) * 60n + BigInt(seconds)
  const ticks = whole * TICKS_PER_SECOND + BigInt(fraction.padEnd(DIGITS, '0'))
  const encoded = encodedLong(BigInt.asIntN(64, sign === '-' ? -ticks : ticks))
  return { described: Buffer.concat([PREFIX, encoded]).toString('base64') }
}

/** As `timeSpan` reads it. Undefined: the described value is another one. */
export function durationOf(described: string): string | undefined {
  const bytes = Buffer.from(described, 'base64')
  if (!bytes.subarray(0, PREFIX.length).equals(PREFIX)) return undefined
  const value = bytes.subarray(PREFIX.length)
  const ticks =
    value[0] === SMALL_LONG ? BigInt(value.readInt8(1)) : longIn(value[0] === LONG ? value : null)
  if (ticks === undefined) return undefined
  const [sign, size] = ticks < 0n ? ['-', -ticks] : ['', ticks]
  const fraction = String(size % TICKS_PER_SECOND).padStart(DIGITS, '0')
  return `${sign}PT${size / TICKS_PER_SECOND}.${fraction}S`
}

function longIn(value: Buffer | null): bigint | undefined {
  return value?.length === 9 ? value.readBigInt64BE(1) : undefined
}

function encodedLong(ticks: bigint): Buffer {
  if (BigInt.asIntN(8, ticks) === ticks) return Buffer.from([SMALL_LONG, Number(ticks) & 0xff])
  const bytes = Buffer.alloc(9, LONG)
  bytes.writeBigInt64BE(ticks, 1)
  return bytes
}
