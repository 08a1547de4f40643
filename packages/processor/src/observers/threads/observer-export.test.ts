import { expect, test } from 'vitest'
import { describeExports, observerExport } from './observer-export.ts'

class Observer {
  readonly data: unknown
  constructor(data: unknown) {
    this.data = data
  }
  processChanges = (): void => {}
}

/** As older compilers write a class. */
function OldObserver(this: { data: unknown }, data: unknown): void {
  this.data = data
}
Object.assign(OldObserver.prototype as object, { processChanges: () => {} })

const make = (data: unknown): object => ({ made: data })

test.each<[string, Record<string, unknown>, object]>([
  ['createObserver', { createObserver: make, default: Observer }, { made: 1 }],
  ['a class by default', { default: Observer, other: 2 }, { data: 1 }],
  ['a class of an older compiler', { default: OldObserver }, { data: 1 }],
  ['a function by default', { default: make }, { made: 1 }],
  ['an async function by default', { default: async (data: unknown) => make(data) }, { made: 1 }],
])('PH-13 %s makes observers', async (_what, exports, made) => {
  expect(await observerExport(exports)?.(1)).toMatchObject(made)
})

test.each([
  [{}, 'exports nothing'],
  [{ default: { processChanges: make } }, 'exports default (object)'],
  [{ createObserver: 5, answer: 42 }, 'exports createObserver (number), answer (number)'],
])('PH-13 %o has no factory, and says what it has', (exports, found) => {
  expect(observerExport(exports)).toBeUndefined()
  expect(describeExports(exports)).toBe(found)
})
