import { expect, test } from 'vitest'
import { linksTo } from './trace-context.ts'

// SDKs cut links by limits of their own, so what they export does not show ours.
test('at most 128 spans are linked, each once', () => {
  const items = Array.from({ length: 600 }, (_, n) => {
    const traceId = (1 + Math.floor(n / 2)).toString(16).padStart(32, '0')
    return { applicationProperties: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` } }
  })
  const ids = linksTo(items, undefined).map(({ context: { traceId } }) => Number(`0x${traceId}`))
  expect(ids).toEqual(Array.from({ length: 128 }, (_, n) => n + 1))
})
