import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  InvalidContinuationError,
  LeaseStoreUnavailableError,
  ResourceNotFoundError,
  StoreUnavailableError,
  textLogger,
  type IChangeFeedObserver,
  type Logger,
} from '@tidemark/contracts'
import { FakeFeed, SimulatedClock } from '@tidemark/testing'
import { MemoryLeaseStore } from '../lease-stores/memory-lease-store.ts'
import { ChangeFeedProcessorHost } from './change-feed-processor-host.ts'
import type { ChangeFeedProcessorHostOptions } from './host-options.ts'

type Options = Partial<ChangeFeedProcessorHostOptions>

interface Stage {
  readonly clock: SimulatedClock
  readonly feed: FakeFeed
  readonly leases: MemoryLeaseStore
  /** What came on the standard error output. */
  readonly stderr: () => readonly string[]
  readonly newHost: (options?: Options) => ChangeFeedProcessorHost
  readonly start: (host: ChangeFeedProcessorHost, observer?: IChangeFeedObserver) => Promise<void>
}

const failing: IChangeFeedObserver = {
  processChanges() {
    throw new TypeError('no\nsuch mirror')
  },
}

/** A feed of one range with one change, and hosts that begin there. */
function stage(): Stage {
  const written = vi.spyOn(process.stderr, 'write').mockImplementation(() => true)
  const clock = new SimulatedClock()
  const feed = new FakeFeed({ clock, ranges: 1 })
  const leases = new MemoryLeaseStore({ clock })
  feed.append('a')
  onTestFinished(() => written.mockRestore())
  return {
    clock,
    feed,
    leases,
    stderr: () => written.mock.calls.map(([line]) => String(line).trimEnd()),
    newHost: ({ hostOptions, ...options } = {}) => {
      const host: ChangeFeedProcessorHost = new ChangeFeedProcessorHost({
        hostName: 'one',
        group: 'g',
        feed,
        leases,
        clock,
        feedOptions: { startFromBeginning: true, mode: 'latestVersion' },
        ...options,
        hostOptions: { retryDelayMs: 1_000, retryMaxDelayMs: 1_000, ...hostOptions },
      })
      onTestFinished(async () => {
        const end = host.unregisterObservers()
        await clock.advance(60_000)
        await end
      })
      return host
    },
    start: async (host, observer = failing) => {
      await Promise.all([host.registerObserver(observer), clock.advance(100)])
    },
  }
}

describe('a host that nobody listens to tells of trouble on the standard error output', () => {
  test('PH-10 once that versions in between and deletes do not come, unless the mode is given', async () => {
    const { stderr, newHost, start } = stage()
    const feedOptions = { startFromBeginning: true }
    await start(newHost({ feedOptions }), { processChanges() {} })
    expect(stderr()).toEqual([expect.stringMatching(/deletes do not come.*feedOptions\.mode/)])
  })

  test('PH-10 one line of an observer that fails, with host, group, lease and place', async () => {
    const { stderr, newHost, start } = stage()
    await start(newHost())
    expect(stderr()).toHaveLength(1)
    expect(stderr()[0]).toMatch(
      /^tidemark: host one, group g: the observer failed in processChanges of lease \S+ \(attempt 1, again in \d+ ms\): TypeError: no such mirror \(at .*host-log\.test\.ts.*\)$/,
    )
  })

  test('PH-10 at most one line in ten seconds, and the next one says how many were suppressed', async () => {
    const { clock, stderr, newHost, start } = stage()
    const host = newHost()
    let failures = 0
    // Not an event that is told: listening to it hides nothing.
    host.on('batchRead', () => {})
    await start(host, {
      processChanges() {
        failures += 1
        throw new Error('no')
      },
    })
    await clock.advance(35_000)
    expect(failures).toBeGreaterThan(30)
    expect(stderr().length).toBeGreaterThanOrEqual(3)
    expect(stderr().length).toBeLessThanOrEqual(4)
    const end = host.unregisterObservers()
    await clock.advance(1_000)
    await end
    const held = stderr().map((line) => /\[observerError: (\d+) more suppressed\]$/.exec(line)?.[1])
    const last = /suppressed before the end: observerError (\d+)$/.exec(stderr().at(-1)!)?.[1]
    const told = held.filter((count) => count !== undefined).map(Number)
    // Every failure was told or counted.
    const lines = stderr().length - 1
    expect(lines + told.reduce((sum, count) => sum + count, 0) + Number(last)).toBe(failures)
  })

  test.each([
    [
      new InvalidContinuationError('beyond'),
      /beyond; to start the group again, run "tidemark leas/,
    ],
    [new ResourceNotFoundError('collection', 'orders'), /once the collection is there again, run/],
    [new StoreUnavailableError('away'), /: ERR_STORE_UNAVAILABLE: away$/],
  ])('PH-10 a position that does not fit comes with what helps: %s', async (error, line) => {
    const { clock, stderr, newHost, start } = stage()
    const feed = new FakeFeed({
      clock,
      ranges: 1,
      beforeRead: () => {
        throw error
      },
    })
    await start(newHost({ feed }))
    expect(stderr()[0]).toMatch(/cannot read the feed of lease -FF \(attempt 1/)
    expect(stderr()[0]).toMatch(line)
  })

  test('PH-10 a dead letter, and a range that is halted', async () => {
    const one = stage()
    const hostOptions = { failurePolicy: { mode: 'deadLetter', maxAttempts: 1 } } as const
    await one.start(one.newHost({ hostOptions, deadLetters: () => {} }))
    await one.clock.advance(5_000)
    expect(one.stderr().join('\n')).toMatch(/document \S+ .* is now dead letter \S+: TypeError/)
    const two = stage()
    await two.start(
      two.newHost({ hostOptions: { failurePolicy: { mode: 'haltRange', maxAttempts: 1 } } }),
    )
    await two.clock.advance(5_000)
    expect(two.stderr().join('\n')).toMatch(/is halted at LSN 1 after 1 attempts/)
  })

  test('PH-10 a host that lost its name to another process', async () => {
    const { clock, stderr, newHost, start } = stage()
    const calm: IChangeFeedObserver = { processChanges() {} }
    const host = newHost()
    await start(host, calm)
    await start(newHost(), calm)
    await clock.advance(20_000)
    expect(host.health().status).toBe('stopped')
    expect(
      stderr().filter((line) => /the host stopped: ERR_HOST_REPLACED/.test(line)),
    ).toHaveLength(1)
  })

  test('PH-10 a start that fails is told by its rejection alone', async () => {
    const { stderr, newHost, start } = stage()
    const host = newHost({ feedOptions: { partitionKeyRangeId: 'none', mode: 'latestVersion' } })
    await expect(start(host)).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
    expect(host.health().status).toBe('stopped')
    expect(stderr()).toEqual([])
  })

  test('PH-10 nothing of a host that stops as it should, however long its batch takes', async () => {
    const { clock, stderr, newHost, start } = stage()
    const host = newHost()
    const { signal } = new AbortController()
    await start(host, { processChanges: () => clock.sleep(5_000, signal) })
    const end = host.unregisterObservers()
    await clock.advance(60_000)
    await end
    expect(host.health().status).toBe('stopped')
    expect(stderr()).toEqual([])
  })

  test('PH-10 an error whose properties throw is retried like any other', async () => {
    const { clock, stderr, newHost, start } = stage()
    const host = newHost()
    let calls = 0
    await start(host, {
      processChanges() {
        calls++
        // As an object that inherits from a DOMException.
        throw new Proxy(new Error('x'), {
          get: () => {
            throw new TypeError('no')
          },
        })
      },
    })
    await clock.advance(5_000)
    expect(calls).toBeGreaterThan(3)
    expect(stderr()[0]).toContain('an error that cannot be read')
    const end = host.unregisterObservers()
    await clock.advance(60_000)
    await end
    expect(host.health().status).toBe('stopped')
  })

  test('PH-10 a listener that throws', async () => {
    const { stderr, newHost, start } = stage()
    const host = newHost()
    host.on('joined', () => {
      throw new Error('of the listener')
    })
    await start(host, { processChanges() {} })
    expect(stderr()).toEqual([
      expect.stringContaining('a listener of joined threw: Error: of the listener'),
    ])
  })
})

describe('an observer that ends because its host aborted it is no trouble', () => {
  /** Waits in its first call for its abort, then rejects as `end` says. */
  async function abortedObserver(
    end: (reason: unknown) => unknown,
    { clock, start }: Stage,
    host: ChangeFeedProcessorHost,
  ): Promise<{ readonly aborts: () => number }> {
    let aborts = 0
    await start(host, {
      async processChanges({ signal }) {
        await clock.sleep(Infinity, signal).catch(() => {})
        aborts += 1
        throw end(signal.reason)
      },
    })
    return { aborts: () => aborts }
  }
  const stopped = async ({ clock }: Stage, host: ChangeFeedProcessorHost): Promise<void> => {
    await Promise.all([host.unregisterObservers(), clock.advance(5_000)])
  }
  /** What is said of observers and their ranges. */
  const said = ({ stderr }: Stage): readonly string[] =>
    stderr().filter((line) => /observer|halted|hangs|stopped/.test(line))
  const policy = { failurePolicy: { mode: 'haltRange', maxAttempts: 1 } } as const
  const hostOptions = { shutdownTimeoutMs: 1_000, ...policy }

  test.each<[string, (reason: unknown) => unknown]>([
    ['the reason of its signal', (reason) => reason],
    ['an AbortError of a client', () => Object.assign(new Error('gone'), { name: 'AbortError' })],
    ['an error with that cause', (cause) => new Error('upload failed', { cause })],
  ])('PH-10 a host that stops says nothing about %s', async (_, end) => {
    const on = stage()
    const host = on.newHost({ hostOptions })
    const { aborts } = await abortedObserver(end, on, host)
    await stopped(on, host)
    expect(aborts()).toBe(1)
    expect(said(on)).toEqual([])
  })

  test('PH-10 a host that lost its leases says only that', async () => {
    const on = stage()
    const { aborts } = await abortedObserver((reason) => reason, on, on.newHost({ hostOptions }))
    await on.start(on.newHost(), { processChanges() {} })
    await on.clock.advance(20_000)
    expect(aborts()).toBe(1)
    expect(said(on)).toEqual([
      expect.stringContaining('its session is gone'),
      expect.stringContaining('ERR_HOST_REPLACED'),
    ])
  })

  test('PH-10 of a call that hung the host says that it hung', async () => {
    const on = stage()
    const host = on.newHost({ hostOptions: { ...hostOptions, maxBatchMs: 1_000 } })
    const { aborts } = await abortedObserver((reason) => reason, on, host)
    await on.clock.advance(2_000)
    expect(aborts()).toBeGreaterThan(0)
    expect(said(on)).toEqual([expect.stringContaining('hangs')])
  })

  test('PH-10 a real failure that comes at that moment is told', async () => {
    const on = stage()
    const host = on.newHost({ hostOptions })
    const { aborts } = await abortedObserver(() => new Error('disk full'), on, host)
    await stopped(on, host)
    expect(aborts()).toBe(1)
    expect(said(on)[0]).toMatch(/failed in processChanges .*: Error: disk full/)
  })

  test('PH-10 an abort that is none of the host is told', async () => {
    const on = stage()
    await on.start(on.newHost(), {
      processChanges() {
        AbortSignal.abort().throwIfAborted()
      },
    })
    expect(said(on)[0]).toMatch(/failed in processChanges .*: AbortError/)
  })
})

describe('passwords in messages of errors stay out of the log', () => {
  const secret = 'connect failed: postgres://user:secret@db/shop'
  const thrown = new Error(secret, { cause: new Error('AccountKey=secret==;no') })

  test('PH-10 of observers and what caused them, and of listeners', async () => {
    const { clock, stderr, newHost, start } = stage()
    const host = newHost()
    host.on('joined', () => {
      throw thrown
    })
    await start(host, {
      processChanges() {
        throw thrown
      },
    })
    await clock.advance(100)
    const [ofListener, ofObserver] = stderr()
    expect(ofListener).toContain(
      'a listener of joined threw: Error: connect failed: postgres://…@db',
    )
    expect(ofObserver).toContain('failed in processChanges')
    expect(ofObserver).toContain('Error: connect failed: postgres://…@db/shop')
    expect(ofObserver).toContain('caused by Error: AccountKey=…;no')
    expect(stderr().join()).not.toContain('secret')
  })

  test('PH-10 listeners get the error as it was thrown', async () => {
    const { newHost, start } = stage()
    const lines: string[] = []
    const host = newHost({ logger: textLogger((line) => void lines.push(line)) })
    const heard: unknown[] = []
    host.on('observerError', ({ error }) => heard.push(error))
    await start(host, {
      processChanges() {
        throw thrown
      },
    })
    expect(heard).toEqual([thrown])
    expect(thrown.message).toBe(secret)
    expect(host.health().leases[0]?.lastError).toBe(thrown)
    expect(lines.join()).not.toContain('secret')
  })
})

describe('who is told', () => {
  test('PH-10 what the program listens to is not logged as well', async () => {
    const { stderr, newHost, start } = stage()
    const host = newHost()
    const heard: unknown[] = []
    host.on('observerError', (event) => heard.push(event))
    await start(host)
    expect(heard).toHaveLength(1)
    expect(stderr()).toEqual([])
  })

  test('PH-10 a listener that only counts hides nothing, beside one that tells it does', async () => {
    const { stderr, newHost, start } = stage()
    const counting = newHost()
    let count = 0
    const counts = (): number => (count += 1)
    counting.on('observerError', counts, { countsOnly: true })
    await start(counting)
    expect([count, stderr().length]).toEqual([1, 1])
    const telling = newHost({ hostName: 'other', group: 'other' })
    telling.on('observerError', counts, { countsOnly: true }).on('observerError', () => {})
    await start(telling)
    expect([count, stderr().length]).toEqual([2, 1])
  })

  test('PH-10 a logger that is given gets all of it, and the standard error output nothing', async () => {
    const { stderr, newHost, start } = stage()
    const lines: string[] = []
    const host = newHost({ logger: textLogger((line) => void lines.push(line)) })
    host.on('observerError', () => {})
    await start(host)
    expect(lines).toHaveLength(1)
    expect(stderr()).toEqual([])
  })

  test('PH-10 false tells nobody, and a logger that throws disturbs nothing', async () => {
    const { clock, stderr, newHost, start } = stage()
    await start(newHost({ logger: false, hostName: 'silent', group: 'silent' }))
    const throwing = (): never => {
      throw new Error('disk full')
    }
    let calls = 0
    const logger = { debug: throwing, info: throwing, warn: throwing, error: throwing }
    await start(newHost({ logger }), {
      processChanges() {
        calls += 1
        if (calls === 1) throw new Error('no')
      },
    })
    await clock.advance(5_000)
    expect(calls).toBe(2)
    expect(stderr()).toEqual([])
  })

  test('PH-10 console is a logger as it stands', async () => {
    const { newHost, start } = stage()
    const spies = (['debug', 'info', 'warn', 'error'] as const).map((level) =>
      vi.spyOn(console, level).mockImplementation(() => {}),
    )
    onTestFinished(() => spies.forEach((spy) => spy.mockRestore()))
    await start(newHost({ logger: console }))
    expect(spies.map((spy) => spy.mock.calls.length)).toEqual([2, 1, 0, 1])
  })
})

interface Line {
  readonly level: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly message: string
}

/** As one of pino is called. */
function recorder(): { readonly lines: Line[]; readonly logger: Logger } {
  const lines: Line[] = []
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields: { ...fields }, message })
  return {
    lines,
    logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
  }
}

describe('a logger that is given gets fields', () => {
  const calm: IChangeFeedObserver = { processChanges() {} }
  const who = { group: 'g', host: 'one' }

  test('PH-10 of a failing observer: group, host, range, epoch, attempt and code', async () => {
    const { clock, newHost, start } = stage()
    const { lines, logger } = recorder()
    await start(newHost({ logger }), {
      processChanges() {
        throw Object.assign(new Error('no'), { code: 'ENOSPC' })
      },
    })
    await clock.advance(11_000)
    const failures = lines.filter(({ level }) => level === 'error')
    const epoch = expect.any(Number)
    const fields = { ...who, event: 'observerError', range: '-FF', epoch, code: 'ENOSPC' }
    expect(failures.map((line) => line.fields)).toEqual([
      { ...fields, attempt: 1 },
      { ...fields, attempt: expect.any(Number), suppressed: expect.any(Number) },
    ])
    expect(failures[0]?.message).toMatch(/^the observer failed in processChanges of lease -FF/)
  })

  test('PH-10 without line ends and passwords in the text, and no error', async () => {
    const { newHost, start } = stage()
    const { lines, logger } = recorder()
    await start(newHost({ logger }), {
      processChanges() {
        throw new Error('no\nanswer of postgres://user:secret@db/shop')
      },
    })
    const [failure] = lines.filter(({ level }) => level === 'error')
    expect(failure?.message).toContain('no answer of postgres://…@db/shop')
    expect(JSON.stringify(lines)).not.toContain('secret')
    expect(Object.values(failure?.fields ?? {}).some((value) => value instanceof Error)).toBe(false)
  })

  test('PH-10 of what a host does otherwise', async () => {
    const { clock, newHost, start } = stage()
    const { lines, logger } = recorder()
    const host = newHost({ logger })
    await start(host, calm)
    const end = host.unregisterObservers()
    await clock.advance(1_000)
    await end
    expect(lines.map(({ level, fields: { event, range } }) => [level, event, range])).toEqual([
      ['info', 'joined', undefined],
      ['debug', 'rebalanced', undefined],
      ['debug', 'leaseAcquired', '-FF'],
      ['debug', 'leaseReleased', '-FF'],
      ['info', 'stopped', undefined],
    ])
    expect(lines[2]).toMatchObject({
      fields: { ...who, lsn: 0 },
      message: expect.stringContaining('at LSN 0'),
    })
  })

  test('PH-10 of a lease that was lost', async () => {
    const { clock, newHost, start } = stage()
    const { lines, logger } = recorder()
    await start(newHost({ logger }), calm)
    // Another process of the same name.
    await start(newHost({ logger: false }), calm)
    await clock.advance(20_000)
    const lost = lines.filter(({ fields }) => fields['event'] === 'leaseLost')
    expect(lost).toMatchObject([{ level: 'warn', fields: { ...who, range: '-FF' } }])
    expect(lost[0]?.message).toMatch(/^lost lease -FF: .*another host/)
    expect(lines.filter(({ level }) => level === 'error')).toMatchObject([
      { fields: { event: 'stopped', code: 'ERR_HOST_REPLACED' } },
    ])
  })

  test('PH-10 of a lease store that is away, and back', async () => {
    const on = stage()
    let isAway = false
    const leases = new MemoryLeaseStore({
      clock: on.clock,
      hooks: {
        before: async ({ operation }) => {
          if (isAway) throw new LeaseStoreUnavailableError(`${operation} refused`)
        },
      },
    })
    const { lines, logger } = recorder()
    await on.start(on.newHost({ leases, logger }), calm)
    isAway = true
    await on.clock.advance(3_000)
    isAway = false
    await on.clock.advance(10_000)
    const told = lines.filter(({ fields }) => String(fields['event']).startsWith('leaseStore'))
    expect(told).toMatchObject([
      {
        level: 'warn',
        fields: { event: 'leaseStoreUnavailable', code: 'ERR_LEASE_STORE_UNAVAILABLE' },
      },
      { level: 'info', fields: { event: 'leaseStoreRecovered' } },
    ])
  })
})
