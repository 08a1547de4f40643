import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { isObserverModule, resolveObserverModule, type ObserverModule } from './observer-module.ts'

const bound = { maxConcurrentObservers: 32 }
const given: ObserverModule = { observerModule: new URL('file:///app/observer.js'), threads: 2 }

describe('PH-13 the options of an observer module', () => {
  test('have defaults', () => {
    expect(resolveObserverModule(given, bound)).toEqual({
      href: 'file:///app/observer.js',
      threads: 2,
      data: undefined,
      maxConcurrentPerThread: 1,
      resourceLimits: {},
    })
  })

  test.each([
    ['file:///app/observer.js', 'file:///app/observer.js'],
    ['/app/my observer.js', pathToFileURL('/app/my observer.js').href],
    [new URL('data:text/javascript,export{}'), 'data:text/javascript,export{}'],
  ])('take %s as a module', (observerModule, href) => {
    expect(resolveObserverModule({ ...given, observerModule }, bound).href).toBe(href)
  })

  test('keep the young small beside a limit of the old, unless told otherwise', () => {
    const limits = (resourceLimits: ObserverModule['resourceLimits']): unknown =>
      resolveObserverModule({ ...given, resourceLimits }, bound).resourceLimits
    expect(limits({ maxOldGenerationSizeMb: 100 })).toEqual({
      maxOldGenerationSizeMb: 100,
      maxYoungGenerationSizeMb: 16,
    })
    expect(limits({ maxOldGenerationSizeMb: 100, maxYoungGenerationSizeMb: 50 })).toEqual({
      maxOldGenerationSizeMb: 100,
      maxYoungGenerationSizeMb: 50,
    })
    expect(limits({ stackSizeMb: 8 })).toEqual({ stackSizeMb: 8 })
  })

  test('copy the data, so that all threads get the same', () => {
    const observerData = { limit: 1 }
    const { data } = resolveObserverModule({ ...given, observerData }, bound)
    observerData.limit = 2
    expect(data).toEqual({ limit: 1 })
  })

  test.each([
    [{ observerModule: './observer.js' }, /observerModule.*"\.\/observer\.js"/],
    [{ observerModule: 'package/observer' }, /observerModule/],
    [{ observerModule: 5 as never }, /observerModule.*5/],
    [{ threads: 0 }, /threads.*0/],
    [{ threads: 1.5 }, /threads.*1\.5/],
    [{ threads: undefined as never }, /threads.*undefined/],
    [{ maxConcurrentPerThread: 0 }, /maxConcurrentPerThread.*0/],
    [{ threads: 33 }, /threads \(33\).*maxConcurrentObservers \(32\)/],
    [
      { threads: 8, maxConcurrentPerThread: 5 },
      /maxConcurrentPerThread \(5\).*maxConcurrentObservers/,
    ],
    [{ observerData: () => {} }, /observerData/],
    [{ resourceLimits: { maxOldGenerationSizeMb: 0 } }, /maxOldGenerationSizeMb.*0/],
    [{ resourceLimits: { stackSizeMb: Number.NaN } }, /stackSizeMb.*NaN/],
  ] satisfies [Partial<ObserverModule>, RegExp][])('refuse %o, and name it', (over, message) => {
    expect(() => resolveObserverModule({ ...given, ...over }, bound)).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_OPTION',
        message: expect.stringMatching(message),
      }),
    )
  })

  test('as many calls as the host may have in flight are allowed', () => {
    expect(resolveObserverModule({ ...given, threads: 32 }, bound).threads).toBe(32)
    expect(
      resolveObserverModule({ ...given, threads: 8, maxConcurrentPerThread: 4 }, bound).threads,
    ).toBe(8)
  })
})

test('an observer that has such a property is an observer', () => {
  expect(isObserverModule(given)).toBe(true)
  expect(isObserverModule({ observerModule: 'x', processChanges: () => {} })).toBe(false)
  expect(isObserverModule({ processChanges: () => {} })).toBe(false)
})
