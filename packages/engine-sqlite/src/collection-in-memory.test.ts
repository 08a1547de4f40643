import { openMemoryStore } from '@tidemark/testing'
import { collectionConformance } from '@tidemark/testing/conformance'
import { afterAll, expect, test } from 'vitest'
import { StatementPlans } from './statement-plans.fixture.ts'

const plans = new StatementPlans()
afterAll(() => plans[Symbol.dispose]())

collectionConformance({
  name: 'memory',
  async open({ clock, maintenance }) {
    const store = await openMemoryStore({ clock, maintenance })
    return { store, dispose: () => store.close() }
  },
})

test('every statement goes by an index, and reads rows up to a limit', () => {
  expect(plans.size).toBeGreaterThan(50)
  expect(plans.costly).toEqual([])
})
