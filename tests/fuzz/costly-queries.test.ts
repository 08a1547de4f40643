import { expect, test } from 'vitest'
import { generateCostlyQuery } from './generate/costly-queries.ts'

test('a costly query follows from seed and number alone', () => {
  for (let index = 0; index < 200; index++) {
    expect(generateCostlyQuery(7, index).text).toBe(generateCostlyQuery(7, index).text)
  }
})
