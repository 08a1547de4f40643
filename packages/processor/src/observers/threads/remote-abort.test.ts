import { describe, expect, test } from 'vitest'
import { newAbortCell, setAborted } from './abort-cell.ts'
import { RemoteAbort } from './remote-abort.ts'

describe('PH-13 a signal in a thread', () => {
  const of = {
    lease: () => {
      const cell = newAbortCell()
      const abort = new RemoteAbort(cell)
      return { signal: abort.signal, cell, abort }
    },
    call: () => {
      const cell = newAbortCell()
      const abort = new RemoteAbort(cell, new RemoteAbort(newAbortCell()))
      return { signal: abort.signal, cell, abort }
    },
    'call, of its lease': () => {
      const cell = newAbortCell()
      const abort = new RemoteAbort(cell)
      return { signal: new RemoteAbort(newAbortCell(), abort).signal, cell, abort }
    },
  }

  test.each(['lease', 'call', 'call, of its lease'] as const)(
    'tells whoever began to listen while the abort was on its way (%s)',
    (whose) => {
      const { signal, cell, abort } = of[whose]()
      const told: unknown[] = []
      expect(signal.aborted).toBe(false)
      // The host does this in its own thread, at any moment: also right after one has looked.
      setAborted(cell)
      signal.addEventListener('abort', () => told.push(signal.reason))
      expect(signal.aborted).toBe(true)
      expect(told).toEqual([])
      abort.abort(new Error('stuck'))
      abort.abort(new Error('once more'))
      expect(told).toEqual([expect.objectContaining({ name: 'AbortError' })])
    },
  )

  test.each(['lease', 'call', 'call, of its lease'] as const)(
    'aborts once, with the reason of its message (%s)',
    (whose) => {
      const { signal, cell, abort } = of[whose]()
      const told: unknown[] = []
      signal.addEventListener('abort', () => told.push(signal.reason))
      setAborted(cell)
      const reason = new Error('stuck')
      abort.abort(reason)
      abort.abort(new Error('once more'))
      expect(told).toEqual([reason])
      expect(() => signal.throwIfAborted()).toThrow(reason)
    },
  )

  test('of one call aborts neither its lease nor another call', () => {
    const lease = new RemoteAbort(newAbortCell())
    const call = new RemoteAbort(newAbortCell(), lease)
    const other = new RemoteAbort(newAbortCell(), lease)
    call.abort(new Error('stuck'))
    expect([lease, call, other].map(({ signal }) => signal.aborted)).toEqual([false, true, false])
  })
})
