import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { NOT_OFFERED } from './not-offered.ts'

it('what is refused by name stands in the table of what is not offered', () => {
  const page = new URL('../../../../docs/guide/service-bus-clients.md', import.meta.url)
  const [, table = ''] = readFileSync(page, 'utf8').toLowerCase().split('## what is not offered')
  expect(NOT_OFFERED.filter((text) => !table.includes(text.toLowerCase()))).toEqual([])
})
