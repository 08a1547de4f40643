import { describe, expect, test } from 'vitest'
import { Namespace } from './interop-amqp.fixture.ts'

describe('Topics and rules', () => {
  test('TOP-07 many rules are listed page by page, each once', async () => {
    await using space = await Namespace.open()
    const names = Array.from(
      { length: 150 },
      (_, index) => `rule-${String(index).padStart(3, '0')}`,
    )
    const entity = await space.subscription({
      rules: names.map((name) => ({ name, filter: { subject: name } })),
    })
    const listed: string[] = []
    for await (const { name } of entity.rules.listRules()) listed.push(name)
    expect(listed.toSorted()).toEqual(names)
    const pages: number[] = []
    for await (const page of entity.rules.listRules().byPage({ maxPageSize: 40 })) {
      pages.push(page.length)
    }
    expect(pages.reduce((sum, size) => sum + size, 0)).toBe(150)
    expect(Math.max(...pages)).toBeLessThanOrEqual(40)
  })
})
