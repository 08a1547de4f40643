import { expect, test } from 'vitest'
import { pageWithMetrics, readPage } from './metrics-table.ts'

test('the guide lists every metric as the package has it (npm run metrics-table)', () => {
  const page = readPage()
  expect(page).toBe(pageWithMetrics(page))
})
