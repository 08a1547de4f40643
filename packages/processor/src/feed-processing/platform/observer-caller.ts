import { AsyncLocalStorage } from 'node:async_hooks'

const callers = new AsyncLocalStorage<object>()

/** Whose call of an observer the code runs in that asks, and what it has awaited; undefined outside of all. */
export function observerCaller(): object | undefined {
  return callers.getStore()
}

export function callObserver<Result>(caller: object, call: () => Result): Result {
  return callers.run(caller, call)
}
