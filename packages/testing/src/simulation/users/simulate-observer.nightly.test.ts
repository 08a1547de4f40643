import { expect, test } from 'vitest'
import type { Change, IChangeFeedObserver } from '@tidemark/contracts'
import { FAULT_CLASSES } from '../schedule/fault.ts'
import { SimulationFailedError } from '../errors/simulation-failed-error.ts'
import type { SimulatedDocuments, SimulateObserverOptions } from './simulate-options.ts'
import { simulateObserver } from './simulate-observer.ts'

interface Payment {
  readonly id: string
  readonly account: string
  readonly amount: number
}

interface Account {
  balance: number
  readonly booked: Map<string, number>
}

type Bank = Map<string, Account>

const feed: SimulatedDocuments<Payment> = {
  partitionKey: ({ account }) => account,
  documents: (random) =>
    Array.from({ length: 60 }, (_, index) => ({
      id: `p${index}`,
      account: `a${random.below(6)}`,
      amount: random.between(1, 100),
    })),
}

const check: SimulateObserverOptions<Payment, Bank>['check'] = ({ world, changes }) => {
  const wanted = new Map<string, number>()
  for (const change of changes) {
    const { account, amount } = paymentOf(change)
    wanted.set(account, (wanted.get(account) ?? 0) + amount)
  }
  for (const [account, balance] of wanted) {
    expect(world.get(account)?.balance, account).toBe(balance)
  }
}

const options: SimulateObserverOptions<Payment, Bank> = { feed, world: () => new Map(), check }

function paymentOf(change: Change<Payment>): Payment {
  if (change.kind !== 'document') throw new Error(`no document: ${change.kind}`)
  return change.document
}

function accountOf(bank: Bank, name: string): Account {
  const account = bank.get(name) ?? { balance: 0, booked: new Map() }
  bank.set(name, account)
  return account
}

/** Books a payment once, whatever comes twice. */
const careful: Parameters<typeof simulateObserver<Payment, Bank>>[0] = ({ request }) =>
  observer(async (payment) =>
    request((bank) => {
      const account = accountOf(bank, payment.account)
      if (account.booked.has(payment.id)) return
      account.booked.set(payment.id, payment.amount)
      account.balance += payment.amount
    }),
  )

/** Books whatever comes. */
const careless: typeof careful = ({ request }) =>
  observer(async ({ account, amount }) =>
    request((bank) => {
      accountOf(bank, account).balance += amount
    }),
  )

function observer(book: (payment: Payment) => Promise<void>): IChangeFeedObserver<Payment> {
  return {
    processChanges: async (_context, changes) => {
      for (const change of changes) await book(paymentOf(change))
    },
  }
}

async function failureOf(run: Promise<unknown>): Promise<SimulationFailedError> {
  const error: unknown = await run.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof SimulationFailedError) return error
  throw new Error(`no failure, but ${String(error)}`)
}

test('PH-4 an observer that books once is right under every fault, and the faults happened', async () => {
  const report = await simulateObserver(careful, { ...options, seeds: 60 })
  expect(report.schedules).toBe(60)
  expect(report.changes).toBe(60 * 60)
  expect(report.delivered).toBe(report.changes + report.deliveredAgain)
  expect(report.deliveredAgain).toBeGreaterThan(100)
  for (const kind of ['kill', 'stop', 'link', 'split', 'throw', 'storePause'] as const) {
    expect(report.faults[kind], kind).toBeGreaterThan(0)
  }
  // An operator is somebody else's fault.
  expect(report.faults).not.toHaveProperty('seek')
})

test('an observer that books twice what comes twice is found, with the least that shows it', async () => {
  const error = await failureOf(simulateObserver(careless, { ...options, seeds: 200 }))
  expect(error.code).toBe('ERR_SIMULATION_FAILED')
  expect(error.violation.oracle).toBe('check')
  expect(error.cause).toBeInstanceOf(Error)
  expect(error.schedule.faults.length).toBeLessThanOrEqual(1)
  expect(error.message).toContain(`seed ${error.seed}`)
  expect(error.trace).toContain('dispatch')

  // What it told of shows it again, to the letter; without the mistake it is right.
  const again = await failureOf(simulateObserver(careless, { ...options, seeds: [error.schedule] }))
  expect(again.violation).toEqual(error.violation)
  expect(again.trace).toBe(error.trace)
  await simulateObserver(careful, { ...options, seeds: [error.schedule, error.seed] })
})

test('without faults nothing comes twice', async () => {
  const report = await simulateObserver(careless, { ...options, faults: [], seeds: 30 })
  expect(report).toMatchObject({ faults: {}, deliveredAgain: 0, delivered: 30 * 60 })
})

test('faults may be of some classes only', async () => {
  const report = await simulateObserver(careful, { ...options, faults: ['operator'], seeds: 30 })
  const kinds = Object.keys(report.faults)
  expect(kinds.length).toBeGreaterThan(0)
  expect(kinds.every((kind) => ['seek', 'release', 'pause'].includes(kind))).toBe(true)
  expect(FAULT_CLASSES).toContain('operator')
})

test('an order that matters is kept per key', async () => {
  const report = await simulateObserver<Payment, Map<string, string[]>>(
    ({ request }) =>
      observer(async ({ account, id }) =>
        request((world) => {
          const seen = world.get(account) ?? []
          if (!seen.includes(id)) seen.push(id)
          world.set(account, seen)
        }),
      ),
    {
      feed,
      world: () => new Map(),
      check: ({ world, changes }) => {
        for (const [account, seen] of world) {
          const wanted = changes.filter((change) => paymentOf(change).account === account)
          expect(seen).toEqual(wanted.map(({ id }) => id))
        }
      },
      seeds: 40,
    },
  )
  expect(report.deliveredAgain).toBeGreaterThan(0)
})

test('a change that is never accepted fails, and says what the observer threw', async () => {
  const never = (): IChangeFeedObserver<Payment> =>
    observer(async ({ id }) => {
      if (id === 'p7') throw new TypeError('p7 has no account')
    })
  const error = await failureOf(simulateObserver(never, { ...options, faults: [], seeds: 1 }))
  expect(error.message).toContain('TypeError: p7 has no account')
  expect(error.cause).toBeInstanceOf(TypeError)
})

test('with dead letters such a change is given up, and the check is told', async () => {
  const report = await simulateObserver<Payment, Set<string>>(
    ({ request }) =>
      observer(async ({ id }) => {
        if (id === 'p7') throw new TypeError('p7 has no account')
        await request((world) => world.add(id))
      }),
    {
      feed,
      world: () => new Set(),
      faults: ['process'],
      hostSettings: { failurePolicy: 'deadLetter' },
      check: ({ world, changes, deadLetters }) => {
        expect(deadLetters.map(({ id }) => id)).toContain('p7')
        expect(world.size + new Set(deadLetters.map(({ id }) => id)).size).toBeGreaterThanOrEqual(
          changes.length,
        )
      },
      seeds: 10,
    },
  )
  expect(report.schedules).toBe(10)
})

test('an observer that waits for anything else is told of what it may wait for', async () => {
  const real = (): IChangeFeedObserver<Payment> =>
    observer(() => new Promise((resolve) => setTimeout(resolve, 1)))
  const error = await failureOf(simulateObserver(real, { ...options, faults: [], seeds: 1 }))
  expect(error.message).toContain('worker.clock and worker.request')
})

test('a number of seeds that is none is refused', async () => {
  for (const seeds of [0, -1, 1.5, Number.NaN]) {
    await expect(simulateObserver(careful, { ...options, seeds })).rejects.toThrow(RangeError)
  }
})
