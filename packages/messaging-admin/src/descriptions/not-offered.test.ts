import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { element } from '../atom/xml-element.ts'
import { QUEUE_READERS, SUBSCRIPTION_READERS, TOPIC_READERS } from './entity-readers.ts'

/** What a reader says of a value that is taken by the service, or undefined. */
function refusal(read: () => unknown): string | undefined {
  try {
    read()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : undefined
  }
}

test('what is refused whatever its value stands in the table of what is not offered', () => {
  const page = new URL('../../../../docs/guide/service-bus-clients.md', import.meta.url)
  const [, table = ''] = readFileSync(page, 'utf8').split('## What is not offered')
  const readers = { ...QUEUE_READERS, ...TOPIC_READERS, ...SUBSCRIPTION_READERS }
  const refused = Object.entries(readers).flatMap(([name, read]) => {
    const texts = ['true', [element('a', '')]].map((given) =>
      refusal(() => read(element(name, given))),
    )
    return texts.some((text) => /cannot be true|must be empty/.test(text ?? '')) ? [name] : []
  })
  expect(refused).toContain('AuthorizationRules')
  expect(refused.length).toBeGreaterThan(3)
  expect(refused.filter((name) => !table.includes(`\`${name}\``))).toEqual([])
})
