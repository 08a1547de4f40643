import { settle } from '@tidemark/testing'
import { describe, expect, it } from 'vitest'
import { WaitingQueue } from './waiting-queue.ts'

interface Request {
  readonly waits: boolean
  readonly max: number
}

/** A queue over a list of items, which counts what is asked for together. */
function queueOver(items: string[]): {
  readonly queue: WaitingQueue<Request, string>
  readonly commands: number[]
  readonly empties: () => number
  readonly hold: () => () => void
} {
  const commands: number[] = []
  let empties = 0
  let held: Promise<void> | undefined
  const queue = new WaitingQueue<Request, string>(
    async (requests) => {
      commands.push(requests.length)
      await held
      return requests.map(({ max }) => items.splice(0, max))
    },
    () => {
      empties += 1
    },
  )
  const hold = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    held = promise
    return () => {
      held = undefined
      resolve()
    }
  }
  return { queue, commands, empties: () => empties, hold }
}

const ONE = { waits: true, max: 1 }

describe('WaitingQueue', () => {
  it('asks once for those who come together, and serves the first first', async () => {
    const { queue, commands } = queueOver(['a', 'b', 'c'])
    const answers = await Promise.all([ONE, ONE, ONE].map((one) => queue.ask(one).delivered))
    expect(answers).toEqual([['a'], ['b'], ['c']])
    expect(commands).toEqual([3])
  })

  it('asks again for those whom an answer leaves out, in their order', async () => {
    const items = ['a', 'b', 'c']
    const commands: number[] = []
    const queue = new WaitingQueue<Request, string>(
      async (requests) => {
        commands.push(requests.length)
        return requests.slice(0, 2).map(({ max }) => items.splice(0, max))
      },
      () => undefined,
    )
    const hasty = { waits: false, max: 1 }
    const answers = [ONE, ONE, hasty].map((one) => queue.ask(one).delivered)
    expect(await Promise.all(answers)).toEqual([['a'], ['b'], ['c']])
    expect(commands).toEqual([3, 1])
  })

  it('asks for those who came during a command with the next one', async () => {
    const { queue, commands, hold } = queueOver(['a', 'b', 'c'])
    const release = hold()
    const first = queue.ask(ONE).delivered
    await settle()
    const later = [queue.ask(ONE).delivered, queue.ask(ONE).delivered]
    release()
    expect(await Promise.all([first, ...later])).toEqual([['a'], ['b'], ['c']])
    expect(commands).toEqual([1, 2])
  })

  it('lets those who found nothing wait, without asking again before something may be there', async () => {
    const items: string[] = []
    const { queue, commands, empties } = queueOver(items)
    const first = queue.ask(ONE)
    const second = queue.ask(ONE)
    await settle()
    expect([commands, empties()]).toEqual([[2], 1])
    items.push('a')
    queue.wake()
    expect(await first.delivered).toEqual(['a'])
    await settle()
    expect(queue.isAwaited).toBe(true)
    items.push('b')
    queue.wake()
    expect(await second.delivered).toEqual(['b'])
  })

  it('forgets no wake-up that comes while a command is on its way', async () => {
    const items: string[] = []
    const { queue, hold } = queueOver(items)
    const release = hold()
    const waiting = queue.ask(ONE)
    await settle()
    queue.wake()
    release()
    items.push('late')
    expect(await waiting.delivered).toEqual(['late'])
  })

  it('SET-21 answers those who do not wait at once, also with nothing', async () => {
    const { queue } = queueOver([])
    expect(await queue.ask({ waits: false, max: 5 }).delivered).toEqual([])
    expect(queue.isAwaited).toBe(false)
  })

  it('delivers to a cancelled one what was on its way, and otherwise nothing', async () => {
    const items = ['a']
    const { queue, hold } = queueOver(items)
    const release = hold()
    const asked = queue.ask(ONE)
    await settle()
    const waiting = queue.ask(ONE)
    waiting.cancel()
    asked.cancel()
    expect(await waiting.delivered).toEqual([])
    release()
    expect(await asked.delivered).toEqual(['a'])
  })

  it('rejects only those for whom it asked when that fails', async () => {
    let fails = true
    const queue = new WaitingQueue<Request, string>(
      (requests) => {
        if (!fails) return Promise.resolve(requests.map(() => ['a']))
        fails = false
        return Promise.reject(new Error('no store'))
      },
      () => undefined,
    )
    const first = queue.ask(ONE).delivered
    await Promise.resolve()
    const second = queue.ask(ONE).delivered
    await expect(first).rejects.toThrow('no store')
    expect(await second).toEqual(['a'])
  })

  it('tells each that it waits, also those for whom it need not ask', async () => {
    const { queue } = queueOver([])
    let waiting = 0
    for (let count = 0; count < 300; count += 1) {
      queue.ask(ONE).whenWaiting(() => {
        waiting += 1
      })
    }
    await settle()
    expect(waiting).toBe(300)
  })

  it('asks for at most 256 at once', async () => {
    const { queue, commands } = queueOver(Array.from({ length: 300 }, (_, place) => `${place}`))
    const asked = Array.from({ length: 300 }, () => queue.ask(ONE).delivered)
    const answers = await Promise.all(asked)
    expect(answers.flat()).toHaveLength(300)
    expect(commands).toEqual([256, 44])
  })

  it('SET-21 answers one who does not wait, behind more who wait than one command asks for', async () => {
    let commands = 0
    const queue = new WaitingQueue<Request, string>(
      async (requests) => {
        commands += 1
        await settle(1)
        return requests.map(() => [])
      },
      () => undefined,
    )
    const answers: (readonly string[])[] = []
    const askAtOnce = (): void => {
      const { delivered } = queue.ask({ waits: false, max: 1 })
      void delivered.then((items) => answers.push(items))
    }
    for (let count = 0; count < 300; count += 1) queue.ask(ONE)
    askAtOnce()
    await settle(50)
    expect(answers).toEqual([[]])
    askAtOnce()
    await settle(50)
    expect(answers).toEqual([[], []])
    expect(commands).toBeLessThan(10)
  })
})

it('delivers what a command has taken, though those behind it are rejected meanwhile', async () => {
  const { queue, hold } = queueOver(['a'])
  const release = hold()
  const asked = queue.ask(ONE).delivered
  await settle(5)
  const later = queue.ask(ONE).delivered
  queue.fail(new Error('lost'))
  await expect(later).rejects.toThrow('lost')
  release()
  expect(await asked).toEqual(['a'])
})

it('lets many leave in time that grows with their number', async () => {
  const leave = async (count: number): Promise<number> => {
    const { queue } = queueOver([])
    const pending = Array.from({ length: count }, () => queue.ask({ waits: true, max: 1 }))
    await settle(5)
    const start = performance.now()
    for (const one of pending.toReversed()) one.cancel()
    return performance.now() - start
  }
  const least = async (count: number) =>
    Math.min(await leave(count), await leave(count), await leave(count))
  // 50 times as many: 2,500 times as long, if each looked at all others.
  const few = await least(2_000)
  expect((await least(100_000)) / few).toBeLessThan(1_000)
})
