import { expect, test } from 'vitest'
import { decimalText } from './decimals.ts'

test.each([
  ['303e000000000000000000000000007b', '123E-1'],
  ['b03e000000000000000000000000007b', '-123E-1'],
  ['0c3e000000000000000000000000000f', '15E-1'],
  ['8c41ffffffffffffffffffffffffffff', '0'],
  ['0c400000ffffffffffffffffffffffff', '79228162514264337593543950335E0'],
  ['30400000000000000000000000000064', '1E2'],
  ['30400000000000000000000000000000', '0'],
  ['78000000000000000000000000000000', 'Infinity'],
  ['f8000000000000000000000000000000', '-Infinity'],
  ['7c000000000000000000000000000000', 'NaN'],
  ['6c7386f26fc0ffff', '9999999999999999E0'],
  ['31a0000000000096', '15E0'],
  ['3180000000000096', '15E-1'],
  ['77f8967f', '9999999E90'],
  ['32800005', '5E0'],
])('the decimal %s is %s', (hex, text) => {
  expect(decimalText(hex)).toBe(text)
})

test('what has another length is no decimal', () => {
  expect(() => decimalText('00')).toThrow(RangeError)
})
