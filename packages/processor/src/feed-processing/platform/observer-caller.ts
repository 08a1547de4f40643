import { AsyncLocalStorage } from 'node:async_hooks'

interface ObserverCall {
  readonly caller: object
  isOver: boolean
}

const calls = new AsyncLocalStorage<ObserverCall>()

/**
 * Who has called the observer whose code asks, or what it has awaited. Undefined outside of all calls, and in what a call
 * has left running: nobody waits for that.
 */
export function observerCaller(): object | undefined {
  const call = calls.getStore()
  return call?.isOver === false ? call.caller : undefined
}

export async function callObserver(caller: object, act: () => Promise<void> | void): Promise<void> {
  const call = { caller, isOver: false }
  try {
    await calls.run(call, act)
  } finally {
    call.isOver = true
  }
}
