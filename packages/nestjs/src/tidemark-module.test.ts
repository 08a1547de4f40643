import {
  Injectable,
  Module,
  Scope,
  type INestApplicationContext,
  type LoggerService,
  type ModuleMetadata,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Change, ObserverContext } from '@tidemark/contracts'
import { MemoryLeaseStore } from '@tidemark/processor'
import { openMemoryStore } from '@tidemark/testing'
import { ChangeFeedHandler, type ChangeFeedHandlerOptions } from './change-feed-handler.ts'
import { TidemarkHosts } from './tidemark-hosts.ts'
import { TidemarkModule } from './tidemark-module.ts'
import type { TidemarkModuleOptions } from './tidemark-module-options.ts'

interface Order {
  readonly id: string
}

const ORDERS = 'orders'
const HANDLER: ChangeFeedHandlerOptions = {
  group: 'mail',
  feed: ORDERS,
  feedOptions: { startFromBeginning: true },
}

let store: Awaited<ReturnType<typeof openMemoryStore>>
let orders: ReturnType<typeof ordersOf>
let leases: MemoryLeaseStore
let log: FakeLogger
let started: INestApplicationContext[]

beforeEach(async () => {
  store = await openMemoryStore()
  await store.database('shop').createCollectionIfNotExists({ id: 'orders', partitionKey: '/id' })
  orders = ordersOf()
  leases = new MemoryLeaseStore()
  log = new FakeLogger()
  started = []
})
afterEach(async () => {
  for (const app of started) await app.close()
  vi.restoreAllMocks()
  await store.close()
})

function ordersOf() {
  return store.database('shop').collection<Order>('orders')
}

/** What Nest's own logger would print. */
class FakeLogger implements LoggerService {
  readonly lines: string[] = []

  log = (): void => {}
  error = (message: unknown, _stack: unknown, context: unknown): void =>
    this.#keep('error', message, context)
  warn = (message: unknown, context: unknown): void => this.#keep('warn', message, context)
  debug = (message: unknown, context: unknown): void => this.#keep('debug', message, context)

  #keep(level: string, message: unknown, context: unknown): void {
    if (context === 'Tidemark') this.lines.push(`${level} ${String(message)}`)
  }
}

/** A class with one handler, decorated as the compiler would do it. */
function mailer(
  onChanges: (context: ObserverContext, changes: readonly Change<Order>[]) => unknown,
  options = HANDLER,
) {
  class Mailer {
    readonly mails: string[] = []

    async onChanges(context: ObserverContext, changes: readonly Change<Order>[]): Promise<void> {
      await onChanges.call(this, context, changes)
      this.mails.push(...changes.map(({ id }) => id))
    }
  }
  Injectable()(Mailer)
  decorate(Mailer, options)
  return Mailer
}

function decorate(
  { prototype }: { readonly prototype: object },
  options: ChangeFeedHandlerOptions,
): void {
  ChangeFeedHandler(options)(
    prototype,
    'onChanges',
    Object.getOwnPropertyDescriptor(prototype, 'onChanges')!,
  )
}

async function start(
  providers: NonNullable<ModuleMetadata['providers']>,
  options: TidemarkModuleOptions = {},
): Promise<INestApplicationContext> {
  class AppModule {}
  Module({
    imports: [TidemarkModule.forRoot({ leases, ...options })],
    providers: [{ provide: ORDERS, useFactory: () => orders }, ...providers],
  })(AppModule)
  // An application that does not start must not end the tests.
  const app = await NestFactory.createApplicationContext(AppModule, {
    logger: log,
    abortOnError: false,
  })
  started.push(app)
  return app
}

test('a handler gets the changes as a method of its provider, and stops with the application', async () => {
  const Mailer = mailer(() => {})
  await orders.upsert({ id: 'o1' })
  const app = await start([Mailer])
  const instance = app.get(Mailer)
  await vi.waitFor(() => expect(instance.mails).toEqual(['o1']))
  const hosts = app.get(TidemarkHosts)
  expect(hosts.health()).toMatchObject([{ group: 'mail', status: 'running' }])

  await app.close()
  expect(hosts.health()).toMatchObject([{ status: 'stopped', hasFailed: false }])
  await orders.upsert({ id: 'o2' })
  const next = await start([Mailer])
  await vi.waitFor(() => expect(next.get(Mailer).mails).toEqual(['o2']))
  expect(instance.mails).toEqual(['o1'])
})

test('shutting down lets the batch in flight finish before the module closes the store', async () => {
  const history: string[] = []
  const inFlight = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const Mailer = mailer(async () => {
    inFlight.resolve()
    await release.promise
    history.push('handled')
  })
  await orders.upsert({ id: 'o1' })
  const close = (): void => void history.push('closed')
  const app = await start([Mailer], { close })
  await inFlight.promise
  const closed = app.close()
  await vi.waitFor(() =>
    expect(app.get(TidemarkHosts).health()).toMatchObject([{ status: 'stopping' }]),
  )
  expect(history).toEqual([])
  release.resolve()
  await closed
  expect(history).toEqual(['handled', 'closed'])
})

test('options of a handler go before those of the module, and tokens lead to leases of its own', async () => {
  const OWN = Symbol('own leases')
  const own = new MemoryLeaseStore()
  const Mailer = mailer(() => {}, { ...HANDLER, leases: OWN, hostOptions: { weight: 3 } })
  await orders.upsert({ id: 'o1' })
  const app = await start([Mailer, { provide: OWN, useValue: own }], {
    hostName: 'pod-1',
    hostOptions: { weight: 2, retryDelayMs: 10 },
    feedOptions: { startFromBeginning: false },
  })
  await vi.waitFor(() => expect(app.get(Mailer).mails).toEqual(['o1']))
  expect(await own.listGroups()).toEqual(['mail'])
  expect(await leases.listGroups()).toEqual([])
  expect(app.get(TidemarkHosts).all()).toMatchObject([{ hostName: 'pod-1', group: 'mail' }])
})

test('one instance under two tokens has its handler called once', async () => {
  const Mailer = mailer(() => {})
  const app = await start([Mailer, { provide: 'alias', useExisting: Mailer }])
  expect(app.get(TidemarkHosts).all()).toHaveLength(1)
})

test('failures of a handler go to the logger of Nest, and the changes come again', async () => {
  let calls = 0
  const Mailer = mailer(() => {
    calls += 1
    if (calls === 1) throw new Error('the mail server is away')
  })
  await orders.upsert({ id: 'o1' })
  const app = await start([Mailer], { hostOptions: { retryDelayMs: 5 } })
  await vi.waitFor(() => expect(app.get(Mailer).mails).toEqual(['o1']))
  expect(log.lines.filter((line) => line.startsWith('error'))).toEqual([
    expect.stringContaining('the mail server is away'),
  ])
})

test.each([
  ['shutDown', 1],
  ['report', 0],
] as const)('a host that stopped by itself is reported; %s', async (onHostFailure, signals) => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
  const Mailer = mailer(() => {})
  const app = await start([Mailer], {
    onHostFailure,
    hostOptions: {
      onLeaseStoreLoss: 'stop',
      leaseRenewIntervalMs: 20,
      leaseExpirationIntervalMs: 200,
    },
  })
  await (await leases.openGroup('mail')).discard('somebody deletes the leases')
  const hosts = app.get(TidemarkHosts)
  await vi.waitFor(() => expect(hosts.health()).toMatchObject([{ hasFailed: true }]), 20_000)
  expect(log.lines).toContainEqual(expect.stringMatching(/^error .*ERR_LEASES_VANISHED/))
  expect(kill.mock.calls).toEqual(Array(signals).fill([process.pid, 'SIGTERM']))
})

test('draining sends no signal', async () => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
  const app = await start([mailer(() => {})], { onHostFailure: 'shutDown' })
  await app.close()
  expect(kill).not.toHaveBeenCalled()
})

test('a host that cannot start lets the application not start, and the others are stopped', async () => {
  const Mailer = mailer(() => {})
  const Printer = mailer(() => {}, {
    ...HANDLER,
    group: 'print',
    feedOptions: { partitionKeyRangeId: 'no-such-range' },
  })
  await expect(start([Mailer, Printer])).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
  expect((await (await leases.openGroup('mail')).read()).hosts).toEqual([])
})

test.each([
  ['a feed that nobody provides', { ...HANDLER, feed: 'nothing' }, {}, 'token nothing of feed'],
  ['an option that there is not', HANDLER, { hostOption: {} }, 'there is no option hostOption'],
  ['another wrong option', HANDLER, { onHostFailure: 'die' }, '"report" or "shutDown"'],
  ['a token of something else', { ...HANDLER, leases: ORDERS }, {}, 'must be a lease store'],
])('%s keeps the application from starting, and is named', async (_, options, more, message) => {
  const Mailer = mailer(() => {}, options)
  const failed = start([Mailer], more as TidemarkModuleOptions)
  await expect(failed).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
  await expect(failed).rejects.toThrow(message)
})

test('two handlers of one group are refused: they would share its changes', async () => {
  await expect(start([mailer(() => {}), mailer(() => {})])).rejects.toThrow(
    'Mailer.onChanges: group mail has a handler',
  )
})

test('a handler of a class that is made for each request is refused', async () => {
  const Mailer = mailer(() => {})
  Injectable({ scope: Scope.REQUEST })(Mailer)
  await expect(start([Mailer])).rejects.toThrow('Mailer.onChanges is a change feed handler')
})

test('the compiler refuses a method that takes something else', () => {
  const takesText: TypedPropertyDescriptor<(text: string) => void> = {}
  const takesOrders: TypedPropertyDescriptor<
    (context: ObserverContext, changes: readonly Change<Order>[]) => Promise<void>
  > = {}
  const check = (): void => {
    ChangeFeedHandler(HANDLER)({}, 'onChanges', takesOrders)
    // @ts-expect-error -- a text is no context
    ChangeFeedHandler(HANDLER)({}, 'onChanges', takesText)
  }
  expect(check).toBeTypeOf('function')
})

test('the decorator itself refuses what is no option', () => {
  expect(() => ChangeFeedHandler({ ...HANDLER, gruop: 'mail' } as never)).toThrow(
    'there is no option gruop; did you mean group?',
  )
  expect(() => ChangeFeedHandler({ group: 'mail' } as never)).toThrow('feed must be')
})
