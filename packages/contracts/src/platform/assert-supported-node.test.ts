import { expect, test } from 'vitest'
import { assertSupportedNode } from './assert-supported-node.ts'

test.each(['22.18.0', '22.21.1', '24.0.0', '24.21.0', '26.1.0'])('Node %s is taken', (version) => {
  expect(() => assertSupportedNode(version)).not.toThrow()
})

test.each(['18.20.0', '20.20.2', '22.17.1', '23.11.0'])('Node %s is refused by name', (version) => {
  const refusal = { code: 'ERR_NODE_UNSUPPORTED', message: expect.stringContaining(version) }
  expect(() => assertSupportedNode(version)).toThrow(expect.objectContaining(refusal))
})
