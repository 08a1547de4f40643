import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import { ChangeFeedProcessorHost, DocumentLeaseStore, serveHealth } from '@tidemark/processor'
import { Store } from '@tidemark/store'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { containerOf, DEPLOY, files, load, only, resource, trigger } from './files.fixture.ts'
import { healthCheck } from './health-check.fixture.ts'
import { RunningCommand } from './running-command.fixture.ts'

const TOKEN = 'token-of-the-scaler'
const KEY = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-deploy-'))
  await writeFile(join(folder, 'credentials'), `bearer ${TOKEN}\n`, { mode: 0o600 })
  await using store = await openData()
  const shop = store.database('shop')
  await shop.createCollectionIfNotExists({ id: 'orders', partitionKey: '/id' })
  await shop.createCollectionIfNotExists({ id: 'leases', partitionKey: '/partitionKey' })
  await workerOn(store).runUntilCaughtUp(() => {})
  for (let n = 0; n < 7; n += 1) await shop.collection('orders').upsert({ id: `o${n}` })
})
afterEach(async () => {
  await RunningCommand.killAll()
  await rm(folder, { recursive: true, force: true })
})

async function openData(): Promise<Store> {
  return Store.open({ engine: await openSqliteEngine({ folder: join(folder, 'data') }) })
}

function workerOn(store: Store): ChangeFeedProcessorHost {
  const shop = store.database('shop')
  return new ChangeFeedProcessorHost({
    group: 'mirror',
    feed: shop.collection('orders'),
    leases: new DocumentLeaseStore(shop.collection('leases')),
    feedOptions: { startFromBeginning: true },
  })
}

/** Starts the command with the flags of a file, in this test's folder and on any free port. */
function start(args: readonly string[]): RunningCommand {
  const here = new Map([
    ['/data', join(folder, 'data')],
    ['/etc/tidemark/credentials', join(folder, 'credentials')],
    ['/run/credentials', join(folder, 'credentials')],
    ['8081', '0'],
  ])
  return new RunningCommand(
    args.map((arg) => here.get(arg) ?? arg),
    { TIDEMARK_STORE: join(folder, 'data'), TIDEMARK_GATEWAY_KEY: KEY },
  )
}

test('the gateway takes its flags, and answers the paths that probes, scalers and Prometheus ask', async () => {
  const { args, livenessProbe, readinessProbe, env } = containerOf('gateway.yaml')
  expect(env.map(({ name }) => name)).toEqual(['TIDEMARK_STORE', 'TIDEMARK_GATEWAY_KEY'])
  const served = start(args)
  const endpoint = await served.endpoint()
  const ask = async (path: string, authorization = '') => {
    const response = await fetch(new URL(path, endpoint), { headers: { authorization } })
    return { status: response.status, text: await response.text() }
  }
  for (const { httpGet } of [livenessProbe, readinessProbe]) {
    expect((await ask(httpGet.path)).status).toBe(200)
  }
  const { metadata } = trigger('keda-metrics-api.yaml')
  const { hostname, port, pathname, search } = new URL(metadata['url'] ?? '')
  const service = resource('gateway.yaml', 'Service')
  expect([hostname, port]).toEqual([
    `${service.metadata.name}.default.svc`,
    String(only(service.spec.ports).port),
  ])
  const lag = await ask(pathname + search, `Bearer ${TOKEN}`)
  const value = metadata['valueLocation'] ?? ''
  expect([lag.status, JSON.parse(lag.text)]).toMatchObject([200, { [value]: 7 }])
  expect(metadata['authMode']).toBe('bearer')
  expect((await ask(pathname + search)).status).toBe(401)
  expect((await ask(pathname + search, 'Bearer other')).status).toBe(401)

  const scraped = await ask('/metrics', `Bearer ${TOKEN}`)
  expect(scraped.status).toBe(200)
  expect(scraped.text).toMatch(
    /^tidemark_group_lag\{.*messaging_consumer_group_name="mirror".*\} 7/m,
  )
  expect((await ask('/metrics')).status).toBe(401)
  expect(await served.end('SIGTERM')).toBe(0)
})

test('the gateway of the compose file takes its flags, and the other services find it', async () => {
  const { services, configs, secrets } = load('compose.yaml')
  const { command, ports } = services.gateway
  const served = start(command)
  const endpoint = await served.endpoint()
  expect(await healthCheck(endpoint)).toBe(0)
  expect(await served.end('SIGTERM')).toBe(0)
  expect(await healthCheck(endpoint)).toBe(1)
  expect(configs.credentials.content).toMatch(/^bearer \$\{TIDEMARK_TOKEN/)
  expect(secrets.token.environment).toBe('TIDEMARK_TOKEN')
  // Nothing is published beyond this machine.
  const published = [ports, services.prometheus.ports, services.grafana.ports].flat()
  expect(published.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([])

  const { scrape_configs: jobs, rule_files: rules } = load('prometheus/prometheus.yaml')
  const { authorization, static_configs: scraped } = only(jobs)
  expect(only(scraped).targets).toEqual(['gateway:8081'])
  expect(authorization.credentials_file).toBe(only(services.prometheus.secrets).target)
  for (const file of rules) expect(files).toContain(`prometheus/${file}`)
  for (const volume of [...services.prometheus.volumes, ...services.grafana.volumes]) {
    const [source = ''] = volume.split(':')
    expect([source, !source.startsWith('.') || existsSync(join(DEPLOY, source))]).toEqual([
      source,
      true,
    ])
  }
  const { providers } = load('grafana/provisioning/dashboards/tidemark.yaml')
  expect(services.grafana.volumes).toContain(
    `./grafana/tidemark.json:${only(providers).options.path}/tidemark.json:ro`,
  )
})

test('a worker answers the paths of its probes', async () => {
  await using store = await openData()
  const host = workerOn(store)
  await using server = await serveHealth(host, { port: 0 })
  await host.registerObserver(() => {})
  const { livenessProbe, readinessProbe } = containerOf('worker.yaml')
  for (const { httpGet } of [livenessProbe, readinessProbe]) {
    expect((await fetch(new URL(httpGet.path, server.url))).status).toBe(200)
  }
  await host.unregisterObservers()
  expect((await fetch(new URL(readinessProbe.httpGet.path, server.url))).status).toBe(503)
})
