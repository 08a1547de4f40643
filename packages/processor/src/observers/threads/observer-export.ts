/** Makes an observer, or a promise of one. What it makes is checked by the caller. */
export type ObserverMaker = (data: unknown) => unknown

/** The factory that a module for `observerModule` exports; undefined if it has none. */
export function observerExport(
  exports: Readonly<Record<string, unknown>>,
): ObserverMaker | undefined {
  const { createObserver, default: main } = exports
  if (isFunction(createObserver)) return (data) => createObserver(data)
  if (isClass(main)) return (data) => new main(data)
  return isFunction(main) ? (data) => main(data) : undefined
}

/** What a module exports instead, for a message. */
export function describeExports(exports: Readonly<Record<string, unknown>>): string {
  const found = Object.entries(exports).map(([name, value]) => `${name} (${typeof value})`)
  return found.length === 0 ? 'exports nothing' : `exports ${found.join(', ')}`
}

type AnyClass = new (data: unknown) => unknown

function isFunction(value: unknown): value is ObserverMaker {
  return typeof value === 'function'
}

/** Written as a class, or what older compilers make of one: a function with methods. */
export function isClass(value: unknown): value is AnyClass {
  if (typeof value !== 'function') return false
  if (/^class\b/.test(Function.prototype.toString.call(value))) return true
  const prototype: unknown = value.prototype
  if (typeof prototype !== 'object' || prototype === null) return false
  return 'processChanges' in prototype || 'processChange' in prototype
}
