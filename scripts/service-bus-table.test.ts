import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { countCases } from './gateway-table/read-suite.ts'
import { clientPage, readClientCases, readMessageRules } from './service-bus-table.ts'

const PAGE = new URL('../docs/spec/service-bus-client.md', import.meta.url)

test('the page of what Service Bus clients can do is what the suite says (node scripts/service-bus-table.ts)', () => {
  const features = readClientCases()
  expect(countCases(features)).toBeGreaterThan(150)
  expect(readFileSync(PAGE, 'utf8')).toBe(clientPage(features, readMessageRules()))
})

test('a case counts for each rule in its name, a table by its rows, and a rule without one has none', () => {
  const cases = [
    { name: 'SET-01 SET-02 both', count: 1 },
    { name: 'SET-02 rows', count: 3 },
    { name: 'no rule', count: 1 },
  ]
  const rules = ['SET-01', 'SET-02', 'SET-03'].map((id) => ({
    id,
    page: 'messages.md',
    text: 'It holds. Always.',
    source: 'ours',
  }))
  const page = clientPage([{ name: 'Settling', cases }], rules)
  expect(page).toContain('| [SET-01](messages.md#set-01) | It holds. | 1 |')
  expect(page).toContain('| [SET-02](messages.md#set-02) | It holds. | 4 |')
  expect(page).toContain('| [SET-03](messages.md#set-03) | It holds. | – |')
  expect(page).toContain('| Settling | 5 |')
  expect(page).toContain('- SET-02 rows (3 cases)')
})
