import { expect, test } from 'vitest'
import { deliveries, repeated } from '../check-history.ts'
import { takeovers } from '../ranges/check-range-history.ts'
import { until } from '../until.ts'
import { GatewayStage, openLeases } from './gateway-stage.ts'

const NOTHING_WRONG = { lost: [], madeUp: [], outOfOrder: [], stale: [], failures: [] }

test('LE-5 LE-12 PH-12 workers that know an endpoint only share the ranges out evenly; joins and leaves repeat nothing', async () => {
  // No session is to end by itself, however busy the machine is.
  await using stage = await GatewayStage.open({ isPlain: false, expirationMs: 60_000 })
  const writer = stage.startWriter()
  const one = await stage.startHost('w1')
  await stage.untilShared([one])
  const two = await stage.startHost('w2')
  const three = await stage.startHost('w3')
  await stage.untilShared([one, two, three])
  await one.terminate()
  await stage.untilShared([two, three])
  await until(() => writer.written.length > 100, { what: 'changes enough' })
  const written = await writer.stop()
  await stage.untilDone(written)

  // It happened: leases moved to those who joined, and from the one who left.
  expect(one.history.filter(({ kind }) => kind === 'close').length).toBeGreaterThan(1)
  expect(openLeases(one)).toEqual([])
  expect(written.length).toBeGreaterThan(100)
  expect(stage.told('fenced')).toBe(0)
  expect(repeated(deliveries(stage.histories()))).toEqual([])
  expect(stage.wrongs(written)).toEqual(NOTHING_WRONG)
})

test.for([
  { server: 'our gateway', isPlain: false, expirationMs: undefined },
  // Its times are whole seconds, and its client has more to do for each call.
  { server: 'an account, by its official client', isPlain: true, expirationMs: 8_000 },
])(
  'PH-4 LE-4 CF-3 a worker at $server that is killed is replaced: nothing is lost, and each key is in order',
  async ({ isPlain, expirationMs }) => {
    await using stage = await GatewayStage.open({ isPlain, expirationMs })
    const hosts = await Promise.all(['w1', 'w2', 'w3'].map((name) => stage.startHost(name)))
    await stage.untilShared(hosts)
    const writer = stage.startWriter()
    await until(
      () => hosts.every(({ history }) => history.some(({ kind }) => kind === 'complete')),
      {
        what: 'all hosts process',
      },
    )
    const [victim, ...others] = hosts
    const orphans = victim === undefined ? [] : openLeases(victim)
    await victim?.kill()
    await stage.untilShared(others)
    const written = await writer.stop()
    await stage.untilDone(written)

    expect(orphans.length).toBeGreaterThan(0)
    expect(takeovers([victim?.history ?? []], stage.histories())).toBe(orphans.length)
    expect(stage.wrongs(written)).toEqual(NOTHING_WRONG)
  },
)

test('PH-10 ST-6 a gateway that is killed under workers and a writer comes back: no acknowledged write is lost, the workers go on by themselves', async () => {
  await using stage = await GatewayStage.open({ isPlain: false })
  const hosts = await Promise.all(['w1', 'w2'].map((name) => stage.startHost(name)))
  await stage.untilShared(hosts)
  const writer = stage.startWriter()
  const completed = (): number =>
    hosts.reduce(
      (sum, { history }) => sum + history.filter(({ kind }) => kind === 'complete').length,
      0,
    )
  let before = completed()
  await until(() => completed() > before + 10, { what: 'work goes on' })
  await stage.replaceGateway()
  before = completed()
  await until(() => completed() > before + 10, { what: 'work goes on' })
  const written = await writer.stop()
  await stage.untilDone(written)
  await stage.untilShared(hosts)

  // It happened: to the writer and to every host.
  expect(stage.failedWrites).toBeGreaterThan(0)
  for (const host of hosts) expect(host.events('connectionFailed')).toBeGreaterThan(0)
  expect(stage.wrongs(written)).toEqual(NOTHING_WRONG)
})
