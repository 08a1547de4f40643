/** The formats of IEEE 754-2008, by their hexadecimal digits: bits of the exponent, its bias, and decimal digits. */
const FORMATS: Readonly<Record<number, readonly [exponent: bigint, bias: number, digits: number]>> =
  {
    8: [8n, 101, 7],
    16: [10n, 398, 16],
    32: [14n, 6176, 34],
  }

/** Of its exponent, the official client of .NET writes the upper bits two places too low: 0x0C for 0x30. */
const NET_HIGH_BITS = 0x0cn

/**
 * The value of a decimal of 32, 64 or 128 bits in binary integer encoding, as AMQP has it, without zeros at its end:
 * `15E-1`, `Infinity`, `NaN`. @throws RangeError for what is none
 */
export function decimalText(hex: string): string {
  const format = FORMATS[hex.length]
  if (format === undefined) throw new RangeError(`a decimal has no ${hex.length} digits`)
  const [exponentBits, bias, digits] = format
  const bits = BigInt(`0x${hex}`)
  const width = BigInt(hex.length * 4)
  const field = (low: bigint, count: bigint): bigint => (bits >> low) & ((1n << count) - 1n)
  const sign = field(width - 1n, 1n) === 1n ? '-' : ''
  const special = field(width - 6n, 5n)
  if (special === 0b11111n) return 'NaN'
  if (special === 0b11110n) return `${sign}Infinity`
  // The first three bits of a large coefficient are not written.
  const isLarge = special >> 3n === 0b11n
  const low = width - exponentBits - (isLarge ? 3n : 1n)
  const coefficient = field(0n, low) | (isLarge ? 0b100n << low : 0n)
  const text = coefficient < 10n ** BigInt(digits) ? String(coefficient) : '0'
  const isNet = width === 128n && field(120n, 7n) === NET_HIGH_BITS
  const biased = isNet ? 0x1800n | field(low, 7n) : field(low, exponentBits)
  const exponent = Number(biased) - bias
  const end = lastDigit(text)
  return end < 0 ? '0' : `${sign}${text.slice(0, end + 1)}E${exponent + text.length - 1 - end}`
}

/** Place of the last one that is not 0. */
function lastDigit(text: string): number {
  let at = text.length - 1
  while (at >= 0 && text[at] === '0') at--
  return at
}
